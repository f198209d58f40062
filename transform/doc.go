// Package transform is the face of the masks. All are matrix masks M = AXB + C (Duncan and
// Keller-McNulty 2000). A chain of masks works on blocks of columns; it does no
// I/O and knows no file format.
//
// The masks are below internal, one a file, with its parameters, their validation and its arithmetic; a family is a
// package: record, category, group, exchange, synthesis and weights. Families know internal/core, which has what masks
// share, and internal/gathered, which has what masks of all records share, and not one another. Package transform lists
// the families (kinds.go) and shows the rest of the program what it needs of all (face.go, asked.go).
//
// A new mask is one file with a type that has Check, Masks, Reads, Describe and Compile, and one line in its family's
// table. Its Compile must declare what it does to each column (Chain.AddToHistory); otherwise NewChain
// returns an error. Every mask follows these rules:
//
//   - A draw is a pure function of key, label of the mask, what was done to the column,
//     identity of the record and value (core/naming.go, package keystream), so blocks,
//     workers and their order do not matter. A swap draws from the streams "order",
//     "partner" and "coin" of its label. Draws of replicates, which are not released,
//     depend on label, column, replicate and place alone.
//   - Arithmetic results are multiples of the column's grid (core/grid.go), products are
//     wrapped in float64() so that no fused multiply-add changes a bit, and the
//     chain's last step fits them to the column's type (core/column.go): every sink
//     writes what is in Released. A swap changes no bit of a value.
//   - A null stays null and counts for nothing. Records that cannot be masked are
//     rejected before the first mask and take no part in swaps.
//   - Errors and rejects name columns and places, never a value.
//
// A truncate of mode redraw is not a separate step: the noise mask before it draws within its
// bounds (record/redraw.go). A swap reads its keys as the masks before it have left them.
//
// What masks compute with and knows neither masks nor columns is below internal: codes of values, the searches of
// suppress, swap and recordswap, and the models of synthesise.
package transform
