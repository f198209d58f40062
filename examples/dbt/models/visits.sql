{{ config(post_hook="COPY (SELECT * FROM {{ this }}) TO 'target/visits.parquet' (FORMAT parquet)") }}
SELECT * FROM read_csv('../project/visits.csv')
