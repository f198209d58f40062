// Package registry is a client of schema registries with Confluent's API, and reads and
// writes the header of messages: a zero byte and the schema's number. registrytest is a
// registry for tests.
package registry

import (
	"crypto/x509"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
)

// Config is the configuration of a registry's client.
type Config struct {
	URL      string              `yaml:"url" required:"true" doc:"the registry's address: http://127.0.0.1:8081"`
	Username string              `yaml:"username" doc:"the user's name, if the registry requires one"`
	Password connectors.Secret   `yaml:"password" doc:"where the user's password is kept: {env: NAME} or {file: PATH}"`
	CA       string              `yaml:"ca" doc:"a PEM file of the certificate authorities that are trusted, for an address with https; by default the system's"`
	Subject  string              `yaml:"subject" default:"{topic}-value" doc:"the subject of a topic's schemas; {topic} in it stands for the topic's name"`
	Patience connectors.Duration `yaml:"patience" default:"30s" doc:"how long to ask a registry again if it does not answer: 30s"`
}

const (
	defaultSubject  = "{topic}-value"
	defaultPatience = 30 * time.Second
)

// Check returns the problems of the parameters, without the network.
func (c *Config) Check() check.Problems {
	var ps check.Problems
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		ps.Addf("url", "must be given, such as http://127.0.0.1:8081")
	case err != nil:
		// The cause quotes the address, which may contain a password.
		ps.Addf("url", "must be an address such as http://127.0.0.1:8081")
	case u.User != nil, strings.Contains(c.URL, "@"): // an address without a scheme is not parsed into its parts
		ps.Addf("url", "must not contain a user's name or password; give them in username and password")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		ps.Addf("url", "must be an address such as http://127.0.0.1:8081 or https://registry.example.org, got %q", c.URL)
	case u.RawQuery != "" || u.Fragment != "":
		ps.Addf("url", "must end with the path, without a question mark or number sign")
	}
	switch {
	case c.Username != "" && !c.Password.Given():
		ps.Addf("password", "must be given where username is: {env: NAME} or {file: PATH}")
	case c.Username == "" && c.Password.Given():
		ps.Addf("username", "must be given where password is")
	}
	if strings.Contains(c.Username, ":") {
		ps.Addf("username", "must not hold a colon, which the protocol cannot carry, got %q", c.Username)
	}
	ps.Within("password", c.Password.Check())
	if c.CA != "" && u != nil && u.Scheme == "http" {
		ps.Addf("ca", "must not be given for an address with http, which is not encrypted")
	}
	if c.CA != "" {
		if pem, err := os.ReadFile(c.CA); err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
			ps.Addf("ca", "must be a PEM file of certificates, and %s holds none", c.CA)
		}
	}
	return ps
}

// SubjectOf returns the subject of a topic's values.
func (c *Config) SubjectOf(topic string) string {
	s := c.Subject
	if s == "" {
		s = defaultSubject
	}
	return strings.ReplaceAll(s, "{topic}", topic)
}
