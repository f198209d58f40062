// Package lineage says by OpenLineage (openlineage.io, spec 2-0-2) that a file job has begun and how it has ended.
//
// An event is for everybody who may read the catalogue, so that it holds what a public report does, and less: the names
// and types of the released columns, the kinds of the masks on them, counts of records and nulls, and the verdict. It
// has no value, no parameter and no moment, no column that is not released, and no text of an error. Of the source it
// has the name that the configuration has for it. Only an event of a release that was published, or may have been, has
// an output.
//
// Events never decide of a release: what did not arrive is a warning, after a bounded time.
package lineage
