"""The foundation of all packages: files, storage, schemas, sources, readers and text-only baselines."""
