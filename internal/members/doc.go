// Package members turns records that are JSON objects (RFC 8259) into columns
// and back: JSON Lines and JSON messages share it. A column is a member, a
// member of a nested object by its dotted path.
//
// A Tree says which members are columns. A Plan says what becomes of each in a
// pass: decoded, masked, released or cut. Records are the texts of a block's
// records, scanned once: where the values are that are wanted, or released as they are. A Writer makes
// text of what leaves, always in the same form: from the values of such records and masked
// columns, or from columns alone.
//
// What belongs to a file or a topic (lines, chunks, inference of types, offsets)
// is not here.
package members
