package kafka

import (
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// watcher tells an observer whether brokers answer.
type watcher struct{ observer Observer }

var (
	_ kgo.HookBrokerConnect = watcher{}
	_ kgo.HookBrokerE2E     = watcher{}
)

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (w watcher) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		w.observer.Broker(err)
	}
}

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (w watcher) OnBrokerE2E(_ kgo.BrokerMetadata, _ int16, e2e kgo.BrokerE2E) {
	w.observer.Broker(e2e.Err())
}
