-- The words that texts have. It is read from the text index itself and takes no space.

CREATE VIRTUAL TABLE search_words USING fts5vocab('search_fts', 'row');
