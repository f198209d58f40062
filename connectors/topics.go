package connectors

// Topics describes a source or sink of topics, for the checks of a whole pipeline.
type Topics struct {
	Names   []string // that are read, or the one that is written
	Pattern string   // of a source: a regular expression of further ones; "" where there is none
	Endless bool     // of a source: it goes on when what is there has been read
	Key     string   // of a sink: what the messages' key is

	Brokers       []string
	Files         []NamedFile // that the connection reads
	PlainPassword bool        // a password goes over a connection that is not encrypted
	Format        string      // of the messages, where it needs a schema registry; else ""
	Registry      bool        // whether there is one
}

// NamedFile is a file that a field of a configuration names.
type NamedFile struct {
	Field string // below the connector's
	Path  string
	Words string // what it is
}

// OfTopics is a configuration of a source or sink of topics.
type OfTopics interface{ DescribeTopics() *Topics }

// Rolling is a configuration of a sink that writes a stream into files of bounded size.
type Rolling interface {
	// RollByDefault sets the default limits of a file's size and age if the configuration has
	// none.
	RollByDefault()
}
