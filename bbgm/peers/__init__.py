"""The methods that the paper compares with, one a file, behind the same interface as its own (`bbgm.matcher`)."""
