// Package protobuf reads and writes messages whose value is a Protobuf message
// in the frame of a schema registry: a zero byte, the schema's number, which of
// the schema's message types it is, the message.
//
// The columns are the top-level fields of the newest schema of each topic. A
// message is read by the schema it was written with, its writer's: fields are
// matched by name, a field that the writer's schema lacks is null, one that is
// not listed is the case of unlisted. What a released nested message holds may be
// no more than what its type held in the newest schema at the start: fields that
// came later are unlisted too.
//
// Messages are walked over by their wire format, without reflection. A writer of
// this format copies the bytes of what is released, in their order, puts masked
// numbers in their place, and leaves out what is withheld, not listed, or of a
// number that the writer's schema does not have. For each writer's schema there is
// a released one without the fields that do not leave, whose numbers are reserved
// and whose names are not said, and without comments, options and types that nothing refers to.
//
// What is read is not trusted: a field twice, two members of a oneof, a wire type
// that is not the schema's make a record malformed. A masked null in a field that
// cannot be absent (proto3 without optional) is released as absent, which readers
// take for zero; such nulls come only from writers whose schema lacks the field.
//
// Map of the files: config (parameters), schema (text to descriptors), reader
// (the columns), plan (what becomes of the fields of a writer's schema), nested
// (what released nested messages may hold), decode and columns (messages to
// blocks), writer (blocks to messages), released (released schemas), compose
// (messages of columns that come from another format).
package protobuf
