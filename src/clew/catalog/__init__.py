"""What every tool is: name, texts, schemas, annotations, toolset, face, handler path. Data."""
