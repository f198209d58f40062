// Package avro reads and writes Avro messages with the header of a schema registry: a
// zero byte, the number of the schema that the message was written with, and the
// record's binary form.
//
// The columns are the top-level fields of the latest schema of each topic's
// subject at the start. Each message may have been written with another schema. For
// each schema the fields are matched to the columns, by name or by an alias of the
// latest schema. The fields are found by walking the bytes, and the wanted ones are
// decoded. If the types differ, numbers are promoted (int, long, float, double), or
// demoted if the value allows it. A column that a message's schema lacks is null, even
// if the latest schema has a default, because no respondent gave this answer.
//
// Released to Avro again, a message keeps its schema without the fields that
// are withheld or not listed: the bytes of the fields that no mask touches are
// copied, masked values are written in the field's own type. If a masked value does not
// fit this schema (for example, a swap put a null or a new symbol there, or the schema
// lacks the field), the record is written with a wider schema, in which every masked
// column is present, has the latest type and is nullable.
package avro
