{{ config(post_hook="COPY (SELECT * FROM {{ this }}) TO 'target/persons.parquet' (FORMAT parquet)") }}
SELECT * FROM read_csv('../project/persons.csv')
