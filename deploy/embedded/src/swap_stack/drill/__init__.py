"""`make drill-restore`: the database goes back to a backup, and nothing is paid twice."""
