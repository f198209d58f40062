// Package connectortest is the contract that every source and sink keeps, as a
// test. A connector's package calls it from a test of its own:
//
//	func TestContract(t *testing.T) {
//		connectortest.Run(t, connectortest.Contract{
//			Ext:    ".arrow",
//			Source: func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
//			Sink:   func(path string) connectors.SinkConfig { return &SinkConfig{Path: path, Compression: "none"} },
//			Types:  connectortest.AllTypes,
//			Nulls:  true, Typed: true, DetectsTruncation: true, Folders: true,
//		})
//	}
//
// Input files are made by the connector's own sink out of a table in memory,
// or by Contract.Write where the test brings files made by another program.
// Whatever is checked runs a small pipeline: source, Decode on several
// goroutines in shuffled order, a change of a numbers column, Encode, Write in
// order, Finish, Commit, and a read of what came out.
//
// A full disk is real: the file size limit of a process (RLIMIT_FSIZE) is
// lowered, so no connector needs a hook for it. That check runs the test binary
// once more, for itself alone.
package connectortest
