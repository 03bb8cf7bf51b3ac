"""What every part leans on: checks of arguments, memory, threads, progress, lazy loading."""
