package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// defaultLinger is how long a window for swapping waits on a stream.
const defaultLinger = Duration(5 * time.Second)

// Stream reports whether the source has no end: topics, read without `until`.
func (p *Pipeline) Stream() bool {
	src := p.kafkaSource()
	return src != nil && src.Endless
}

// Streaming reports whether the pipeline runs as a stream, one transaction after
// another: from topics to a topic, also where `until: latest` ends it, and from
// topics without end to rolling Parquet files. Everything else is a file job,
// which is judged and published as a whole.
func (p *Pipeline) Streaming() bool {
	return p.kafkaSource() != nil && p.kafkaSink() != nil || p.rolling()
}

// rolling reports whether a stream without end goes into files of bounded size.
func (p *Pipeline) rolling() bool {
	return p.Sink.Abilities().RollByDefault != nil && p.Stream()
}

// kafkaSource returns what the source says of its topics, nil where it has none.
func (p *Pipeline) kafkaSource() *connectors.Topics { return p.Source.Abilities().Topics }

func (p *Pipeline) kafkaSink() *connectors.Topics { return p.Sink.Abilities().Topics }

// connection is how a source or sink reaches its brokers, and the path of its
// fields.
type connection struct {
	path string
	*connectors.Topics
}

func (p *Pipeline) kafkaConnections() []connection {
	var cs []connection
	if c := p.kafkaSource(); c != nil {
		cs = append(cs, connection{"source.kafka", c})
	}
	if c := p.kafkaSink(); c != nil {
		cs = append(cs, connection{"sink.kafka", c})
	}
	return cs
}

// files tells visit of every file that the connection reads.
func (c connection) files(visit func(field, file, words string)) {
	for _, f := range c.Files {
		visit(c.path+"."+f.Field, f.Path, f.Words)
	}
}

// fillStream gives what is left out the default that it has on this kind of run.
func (l *loader) fillStream(p *Pipeline) {
	stream := p.Stream() || p.Streaming()
	if p.Gate.OnFail == "" {
		p.Gate.OnFail = Withhold
		if stream {
			p.Gate.OnFail = Stop
		}
	}
	if p.rolling() {
		p.Sink.Abilities().RollByDefault()
	}
	if p.Window.Linger == 0 && stream && transform.NeedsWindow(p.Masks) {
		p.Window.Linger = defaultLinger
	}
}

// validateStream checks what depends on whether the run is a stream or a file job, beyond the
// parameters of one connector.
func (l *loader) validateStream(p *Pipeline) {
	src, dst := p.kafkaSource(), p.kafkaSink()
	if l.Given("window.linger") && src == nil && p.Source.Config != nil && l.Sound("window.linger") {
		l.Wrong("window.linger", "needs a kafka source: in files no window waits for records")
	}
	switch {
	case p.Sink.Config == nil:
	case !p.Sink.Abilities().TakesStream:
		if p.Stream() && l.Sound("source.kafka.until") {
			l.Wrong("sink."+p.Sink.Kind,
				"must be kafka or parquet (rolling files) for a stream without end; or give source.kafka.until: latest, to read what is there and finish")
		}
	case p.Stream() && objectpath.Is(pathOf(p.Sink.Config)):
		if l.Sound("sink." + p.Sink.Kind + ".path") {
			l.Wrong("sink."+p.Sink.Kind+".path",
				"must be a folder of this machine: the rolling files of a stream are not written to object storage")
		}
	case p.Sink.Kind == "parquet":
		if l.Given("sink.parquet.roll") && !p.Stream() && p.Source.Config != nil && l.Sound("source", "sink.parquet.roll") {
			l.Wrong("sink.parquet.roll",
				"is for a kafka source without until; a file job writes all records of its source and ends")
		}
	}
	for _, c := range p.kafkaConnections() {
		if c.PlainPassword {
			p.Warnings = append(p.Warnings,
				fmt.Sprintf(
					"%s.sasl: the mechanism plain sends the password as it is, and without tls whoever is on the way can read it",
					c.path))
		}
	}
	if src != nil {
		l.validateAnew(p, src)
		l.validateFormat("source.kafka", src.Format, src.Registry)
	}
	if dst == nil {
		return
	}
	l.validateFormat("sink.kafka", dst.Format, dst.Registry || src != nil && src.Registry)
	l.validateMessageKey(p, dst)
	if src != nil && l.Sound("source.kafka", "sink.kafka") && !slices.ContainsFunc(dst.Brokers, func(b string) bool {
		return slices.Contains(src.Brokers, b)
	}) {
		l.Wrong("sink.kafka.brokers",
			"must be brokers of the source's cluster, and share an address with source.kafka.brokers: one transaction holds the released records and the offsets of what was read")
	}
}

// validateAnew demands that records of a topic that was made again do not get the draws of those that were
// at their places before: the difference of two released values would be that of the originals.
func (l *loader) validateAnew(p *Pipeline, src *connectors.Topics) {
	const path = "source.kafka.on_recreated"
	if src.Anew && len(p.Identity) == 0 && l.Sound(path, "identity") {
		l.Wrong(path,
			"needs identity: without it draws are named by topic, partition and offset, so a record of the new topic would get the noise of the old one's at the same place; stop, and go on with another key and another group")
	}
}

// validateFormat demands a registry for the formats that have one.
func (l *loader) validateFormat(path string, word string, registry bool) {
	if word != "" && !registry && l.Sound(path+".registry", path+".format") {
		l.WrongAt(path, path+".registry", "is required for the format %s: the schema registry, {url: …}", word)
	}
}

// keyWords are what a key may be besides a column.
var keyWords = []string{"drop", "pass", "hash"}

func (l *loader) validateMessageKey(p *Pipeline, dst *connectors.Topics) {
	const path = "sink.kafka.key"
	if slices.Contains(keyWords, dst.Key) || !l.Known(path) || !l.NamesRead("columns") || !l.Sound(path) {
		return
	}
	switch c := p.Columns.Named(dst.Key); {
	case c == nil:
		l.Wrong(path, "must be drop, pass, hash or a listed column, got %q%s", dst.Key,
			form.Instead(dst.Key, append(slices.Clone(keyWords), p.Columns.Names()...)))
	case c.Role == microdata.Identifier:
		l.Wrong(path,
			"must be a column that is released, got %q, an identifier: it never leaves; hash lets records of one respondent keep together", dst.Key)
	}
}

// validateOnFail judges what becomes of a release that breaks a rule.
func (l *loader) validateOnFail(p *Pipeline) {
	const path = "gate.on_fail"
	if p.Source.Config == nil || p.Sink.Config == nil || !l.Sound(path) {
		return
	}
	word, stream := p.Gate.OnFail, p.Stream() || p.Streaming()
	switch {
	case stream && word == Withhold:
		l.Wrong(path,
			"must be stop, hold or alert for a stream, got %q, which is for file jobs: of a stream earlier transactions are released already", word)
	case !stream && word != Withhold:
		l.Wrong(path,
			"must be withhold for a file job, got %q, which is for streams: a file that breaks a rule is not published", word)
	case word == Hold && p.kafkaSink() == nil:
		l.Wrong(path,
			"needs a kafka sink, because held records go to another topic on its brokers; for files use stop or alert")
	case word == Hold && p.Gate.Hold == nil && l.Sound("gate.hold"):
		l.WrongAt(path, "gate.hold",
			"is required for on_fail: hold: {topic: NAME}, the restricted topic that takes the masked records meanwhile")
	case word != Hold && l.Given("gate.hold"):
		l.Wrong("gate.hold", "needs on_fail: hold, got on_fail: %s", word)
	}
}
