-- What files define and call, by blob and language. All of it can be made again.
CREATE TABLE outlines (
    blob TEXT NOT NULL,
    language TEXT NOT NULL,
    outline BLOB NOT NULL,
    PRIMARY KEY (blob, language)
);
