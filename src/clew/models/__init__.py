"""Language and embedding models behind one small interface, loaded only when used."""
