"""Its presence puts tests/ on the import path: `import make_trace`."""
