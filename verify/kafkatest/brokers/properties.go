package brokers

import (
	"fmt"
	"strings"
)

// clusterID is any 16 bytes in base64; all brokers have the same.
const clusterID = "c2RsZmlsdGVyLWthZmthLQ"

// properties returns a broker's configuration. It differs from Kafka's defaults only to
// make tests faster: the internal topics have few partitions, groups form without a
// delay, and transactions that their producers have abandoned are aborted within a
// second of their timeout.
func (c *Cluster) properties(b *broker) string {
	var voters []string
	for _, v := range c.brokers {
		voters = append(voters, fmt.Sprintf("%d@%s", v.id, loopback(v.controller)))
	}
	listeners := fmt.Sprintf("DIRECT://%s,CONTROLLER://%s", loopback(b.direct), loopback(b.controller))
	advertised := "DIRECT://" + loopback(b.direct)
	if b.advertised != "" {
		listeners += ",PROXIED://" + loopback(b.proxied)
		advertised += ",PROXIED://" + b.advertised
	}
	// Two of three brokers must have a record before it is acknowledged, so that killing
	// a broker loses nothing.
	replicas, inSync := len(c.brokers), max(1, len(c.brokers)-1)
	lines := []string{
		"process.roles=broker,controller",
		fmt.Sprintf("node.id=%d", b.id),
		"controller.quorum.voters=" + strings.Join(voters, ","),
		"listeners=" + listeners,
		"advertised.listeners=" + advertised,
		"inter.broker.listener.name=DIRECT",
		"controller.listener.names=CONTROLLER",
		"listener.security.protocol.map=DIRECT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + b.dir + "/data",
		"auto.create.topics.enable=false",
		"num.partitions=4",
		fmt.Sprintf("default.replication.factor=%d", replicas),
		fmt.Sprintf("min.insync.replicas=%d", inSync),
		fmt.Sprintf("offsets.topic.replication.factor=%d", replicas),
		fmt.Sprintf("transaction.state.log.replication.factor=%d", replicas),
		fmt.Sprintf("transaction.state.log.min.isr=%d", inSync),
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"offsets.topic.num.partitions=6",
		"transaction.state.log.num.partitions=6",
		"group.initial.rebalance.delay.ms=0",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
		// A killed broker is noticed after 3 s instead of 9.
		"broker.session.timeout.ms=3000",
		"broker.heartbeat.interval.ms=500",
		"log.retention.hours=-1",
		"log.segment.bytes=268435456",
		"log.index.size.max.bytes=1048576",
		"num.network.threads=2",
		"num.io.threads=4",
	}
	return strings.Join(lines, "\n") + "\n"
}

// logging sends warnings to standard output, which is the broker's log file.
const logging = `status = error
appender.console.type = Console
appender.console.name = STDOUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = STDOUT
`
