package stream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rolling"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// outlet is where a stream's released records go.
type outlet interface {
	// carries reports whether unmasked columns are released as the bytes that were read.
	carries() bool
	// keepsTombstones reports whether messages without a value pass unchanged.
	keepsTombstones() bool
	// due reports whether the open transaction should end now.
	due() bool
	// enter prepares for a partition that has been assigned; it gets what finish returned for the
	// last committed transaction.
	enter(p kafka.Partition, manifest []byte) error
	encode(ctx context.Context, b *microdata.Block) (connectors.Encoded, error)
	write(ctx context.Context, p *pipeline.Parcel) error
	// finish completes the transaction's output. What it returns is kept with the transaction, by
	// partition, for enter.
	finish(ctx context.Context) (map[kafka.Partition][]byte, error)
	committed() error
	// abort removes what belongs to a transaction that was not committed.
	abort() error
	// leave gives up a transaction when it is unknown whether it was committed.
	leave() error
}

func (s *stream) newOutlet(ctx context.Context, f *inForce) (outlet, error) {
	switch sink := f.config.Sink.Config.(type) {
	case *kafka.SinkConfig:
		hold := ""
		if f.config.Gate.Hold != nil {
			hold = f.config.Gate.Hold.Topic
		}
		release, err := s.kafka.Release(ctx, f.source, f.masked.Plan.Layout, s.key, hold)
		if err != nil {
			return nil, err
		}
		return &topicOutlet{stream: s, release: release}, nil
	case *parquet.SinkConfig:
		files, err := rolling.New(sink, f.masked.Plan.Layout, f.source)
		if err != nil {
			return nil, err
		}
		return &fileOutlet{stream: s, files: files}, nil
	default:
		return nil, config.Errors{f.config.Errorf("sink", "must be kafka, or parquet, for a source without an end")}
	}
}

// topicOutlet releases into topics.
type topicOutlet struct {
	stream  *stream
	release *kafka.Release
}

func (o *topicOutlet) carries() bool         { return o.release.Carries() }
func (o *topicOutlet) keepsTombstones() bool { return o.release.KeepsTombstones() }
func (o *topicOutlet) due() bool             { return false }

func (o *topicOutlet) enter(kafka.Partition, []byte) error { return nil }

func (o *topicOutlet) encode(ctx context.Context, b *microdata.Block) (connectors.Encoded, error) {
	return pipeline.Restored(b, func() (connectors.Encoded, error) { return o.release.Encode(ctx, b, o.stream.holding) })
}

func (o *topicOutlet) write(ctx context.Context, p *pipeline.Parcel) error {
	return interruptionOf(o.release.Write(ctx, p.Raw, p.Block, p.Encoded, o.stream.holding))
}

func (o *topicOutlet) finish(context.Context) (map[kafka.Partition][]byte, error) { return nil, nil }
func (o *topicOutlet) committed() error                                           { return nil }
func (o *topicOutlet) abort() error                                               { return nil }
func (o *topicOutlet) leave() error                                               { return nil }

// fileOutlet releases into files that get their names with the commit.
type fileOutlet struct {
	stream   *stream
	files    *rolling.Files
	manifest rolling.Manifest // of the transaction that is being committed
}

func (o *fileOutlet) carries() bool         { return false }
func (o *fileOutlet) keepsTombstones() bool { return false }
func (o *fileOutlet) due() bool             { return o.files.Due() }

func (o *fileOutlet) enter(p kafka.Partition, kept []byte) error {
	var manifest rolling.Manifest
	if len(kept) > 0 {
		if err := json.Unmarshal(kept, &manifest); err != nil {
			return fmt.Errorf("what was kept of the files of %s is damaged", p)
		}
	}
	return o.files.Recover(p.Topic, p.Number, manifest)
}

func (o *fileOutlet) encode(_ context.Context, b *microdata.Block) (connectors.Encoded, error) {
	return pipeline.Restored(b, func() (connectors.Encoded, error) { return o.files.Encode(b) })
}

func (o *fileOutlet) write(ctx context.Context, p *pipeline.Parcel) error {
	b := p.Block
	if b.N == 0 {
		return nil
	}
	at := o.stream.source.PartitionOf(b)
	return o.files.Write(ctx, at.Topic, at.Number, b.Place(0), b.Place(b.N-1), p.Encoded)
}

func (o *fileOutlet) finish(ctx context.Context) (map[kafka.Partition][]byte, error) {
	var err error
	if o.manifest, err = o.files.Finish(ctx); err != nil {
		return nil, err
	}
	kept := map[kafka.Partition][]byte{}
	for p, part := range o.manifest.ByPartition() {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		kept[kafka.Partition{Topic: p.Topic, Number: p.Number}] = text
	}
	return kept, nil
}

func (o *fileOutlet) committed() error {
	manifest := o.manifest
	o.manifest = nil
	return o.files.Publish(manifest)
}

func (o *fileOutlet) leave() error {
	o.manifest = nil
	return o.files.Close()
}

func (o *fileOutlet) abort() error {
	o.manifest = nil
	return o.files.Abort()
}
