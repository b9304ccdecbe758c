"""Files that others wrote, read within limits and with messages that say what they are instead."""
