// Package abilities asks connectors for their optional abilities: for each optional interface
// of package connectors it has a function, which looks for the interface in a source, a sink or
// a configuration. A connector that does not declare an ability counts as unable. If treating
// it as able could disclose something, the answer is an error.
//
// No other package looks for these interfaces.
package abilities
