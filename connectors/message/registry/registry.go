// Package registry is the client of a schema registry that speaks Confluent's
// API, and the frame that its users put around a message: a zero byte and the
// schema's number.
package registry

// Config says where the registry is.
type Config struct {
	URL string `yaml:"url" required:"true" doc:"the registry's address: http://127.0.0.1:8081"`
}

// Client asks a schema registry, and remembers what it answered.
type Client struct{}
