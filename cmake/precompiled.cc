// CMake precompiles headers for a target only, and a target has a source.
