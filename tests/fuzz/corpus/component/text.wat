(component (core module (memory 1)))
