// Package avro reads and writes messages of Avro in the frame of a schema
// registry: a zero byte, the number of the schema that the message was written
// with, the record's binary form.
//
// The columns are the top-level fields of the latest schema of each topic's
// subject at the start. Every message may have been written with another
// schema. For each of them the fields are matched to the columns, by name or by
// an alias that the latest schema gives, and found by walking the bytes;
// wanted ones are decoded, numbers being promoted where the types differ
// (int, long, float, double; back again where the value allows it). A column
// that a message's schema lacks is null, also where the latest schema has a
// default: nobody gave that answer.
//
// Released to Avro again, a message keeps its schema without the fields that
// are withheld or not listed: the bytes of the fields that no mask touches are
// copied, masked values are written in the field's own type. Where a masked
// value does not fit that schema (a swap put a null or a new symbol there, or
// the schema lacks the field), the record is written with a wider one, in which
// every masked column is present, of the latest type, and nullable.
package avro
