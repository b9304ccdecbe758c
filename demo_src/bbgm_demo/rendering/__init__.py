"""The renderer: meshes, paint, light, shadows, a camera, and pictures of whole scenes."""
