package config

import (
	"net"
	"net/url"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// Lineage says where the OpenLineage events of a file job go: a file, a URL, or both.
type Lineage struct {
	File      string            `yaml:"file" doc:"a file that the events are appended to, one JSON object a line; made readable by its owner only"`
	URL       string            `yaml:"url" doc:"the address that the events are posted to, such as https://lineage.example/api/v1/lineage, without user, password and parameters. Redirects are not followed"`
	Token     connectors.Secret `yaml:"token" doc:"where the bearer token for url is kept: {env: NAME} or {file: PATH}. It is sent over https, or to this machine"`
	Namespace string            `yaml:"namespace" default:"sdlfilter" doc:"the namespace of the job"`
	Patience  Duration          `yaml:"patience" default:"5s" doc:"how long one event may take. An event that did not arrive is a warning; the release and the exit status stay, and the end of a run waits at most twice this long, and a second"`
}

// SourcePath is the path of the source, "" where it has none.
func (p *Pipeline) SourcePath() string { return pathOf(p.Source.Config) }

// SinkPath is that of the sink; it may be "-".
func (p *Pipeline) SinkPath() string { return pathOf(p.Sink.Config) }

// ValidateLineage finds what is wrong with a section of another kind of configuration.
func (l *Loader) ValidateLineage(to *Lineage) { l.validateLineage(to) }

// validateLineage finds what is wrong with an address without repeating it, as it may hold a password.
func (l *loader) validateLineage(to *Lineage) {
	if to == nil || !l.Sound("lineage") {
		return
	}
	if to.File == "" && to.URL == "" {
		l.Wrong("lineage", "must have a file or a url")
	}
	if d := time.Duration(to.Patience); d <= 0 || d > time.Minute {
		l.Wrong("lineage.patience", "must be above 0 and at most 1m, got %s", d)
	}
	l.Within("lineage.token", to.Token.Check())
	u, err := url.Parse(to.URL)
	switch {
	case to.URL == "":
		if to.Token.Given() {
			l.Wrong("lineage.token", "is for url, and there is none")
		}
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		l.Wrong("lineage.url", "must be of the form https://HOST/PATH")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		l.Wrong("lineage.url",
			"must be of the form https://HOST/PATH, without user, password and parameters; a token has its place in token: {env: NAME}")
	case to.Token.Given() && u.Scheme != "https" && !loopback(u.Hostname()):
		l.Wrong("lineage.url", "must be of the form https://HOST/PATH where there is a token")
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
