{{ config(post_hook="COPY (SELECT * FROM {{ this }}) TO 'target/households.parquet' (FORMAT parquet)") }}
SELECT * FROM read_csv('../project/households.csv')
