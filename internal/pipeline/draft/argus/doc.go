// Package argus reads batch files of τ-ARGUS (.arb) with their metadata (.rda), and writes the configuration of tables
// that says the same, with the data in a form that it can read. What a configuration cannot say is named by file and
// line: an error if leaving it out would publish more, or with less protection, than the batch file asks; else a
// warning.
package argus
