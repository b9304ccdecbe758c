"""What may go wrong with a run, and how it is noticed: altered files, results that change, training that diverges."""
