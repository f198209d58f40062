// Package core is what the families of masks share, and knows none of them.
//
// A mask is a Params. Its Compile makes a Step of it for a Chain: it takes its columns (Chain.Arithmetic, Touch,
// Categorical), says what it does to each of them (AddToHistory), and gets its draws by that (Stream). Apply then
// changes blocks, with the scratch space of a Work. What a Step can do beside is said by further methods: a survey of
// all records (Surveying), the law of what it releases (Law, with Stage), which values stay (Keeps), records left out.
// What others may know of the mask is its Description.
//
// Names are exported for the families; package transform shows the part that the rest of the program uses.
package core
