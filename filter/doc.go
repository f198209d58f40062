// Package filter masks record batches of Arrow within a program of one's own: the masks,
// the rejection of records that cannot be masked, the assessment of risk and utility, and
// the gate's verdict, as a run of the command has them. Reading and writing are the
// program's; no connector comes with this package.
//
// A configuration is one of the command without source, sink, quarantine, report and map
// (config.LoadEmbedded). Under the same key, masks and columns the same records in the
// same order are released with the same values as by a run from one file.
//
// # What leaves, and when
//
// What Batch returns is masked but not yet judged. The gate judges the whole: hold back
// what Batch returned until Close has returned a report whose gate has passed, and drop
// it where the gate refuses, or Close or Batch returns an error. The report is
// confidential; Report.Public makes the twin that may be published.
//
// # Contexts
//
// BatchContext and CloseContext take a context. One that ends before a batch's turn leaves
// the batch untouched, and it may be given again; one that ends during CloseContext ends
// the assessment, and there is no verdict.
//
// # What cannot be done in batches
//
// A stream of batches is read once. Percentages and decimals that the types do not fix
// must be given, in the configuration or by a profile; swaps over the whole dataset are
// refused. Where a mask swaps within windows, each batch is a window and must have
// window.records records, the last one at most.
package filter
