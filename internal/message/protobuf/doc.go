// Package protobuf reads and writes messages whose value is a Protobuf message with the
// header of a schema registry: a zero byte, the schema's number, the indexes of the
// message type in the schema, and the message.
//
// The columns are the top-level fields of the newest schema of each topic. A message is
// read with the schema that it was written with (the writer's schema). Fields are
// matched by name; a field that the writer's schema lacks is null; for a field that is
// not listed, the configuration of unlisted applies. A released nested message may
// contain only the fields that its type had in the newest schema at the start; later
// fields are unlisted too.
//
// Messages are scanned in their wire format, without reflection. A writer of this format copies
// the bytes of released fields in their order, omits fields that are withheld, not listed, or
// unknown to the writer's schema, and puts the masked ones at the end, always in the same order, so
// that their places do not show which of them a mask has filled or made zero. For each writer's
// schema there is a released schema without the fields that are not released (their numbers are
// reserved, their names are not given) and without comments, options and unused types.
//
// Input is not trusted: a repeated single field, two members of a oneof, or a wire type
// that differs from the schema make a record malformed. A masked null in a field that
// cannot be absent (proto3 without optional) is released as absent, which readers take
// for zero; such nulls come only from writers whose schema lacks the field.
//
// Map of the files: config (parameters), schema (text to descriptors), reader
// (the columns), plan (the treatment of the fields of a writer's schema), nested (the
// allowed contents of released nested messages), decode and columns (messages to
// blocks), writer (blocks to messages), released (released schemas), compose (messages
// of columns that come from another format).
package protobuf
