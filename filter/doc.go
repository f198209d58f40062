// Package filter masks Arrow record batches inside another Go program. It applies the masks,
// rejects records that cannot be masked, assesses risk and utility, and judges the gate, in the
// same way as a run of the command. The calling program reads and writes the data; this package
// has no connectors.
//
// The configuration is that of the command without source, sink, quarantine, report and map
// (config.LoadEmbedded). With the same key, masks and columns, the same records in the same
// order get the same released values as in a run from one file.
//
// # What leaves, and when
//
// The records that Batch returns are masked but not yet judged: the gate judges all records
// together. Keep them until Close has returned a report whose gate has passed. Drop them if the
// gate refuses, or if Close or Batch returns an error. The report is confidential;
// Report.Public makes the report that may be published.
//
// # Contexts
//
// BatchContext and CloseContext take a context. If it ends before a batch is begun, the batch
// is not masked and may be passed again. If it ends during CloseContext, the assessment ends
// without a verdict.
//
// # What cannot be done in batches
//
// A stream of batches is read once. Percentages and decimals that the types do not fix
// must be given, in the configuration or by a profile; swaps over the whole dataset are
// refused. Where a mask swaps within windows, each batch is a window and must have
// window.records records, the last one at most.
package filter
