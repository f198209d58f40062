package kafkatest

// What runs on one broker. What measures runs alone, the rest side by side: most
// of it is waiting.
var oneBroker = []scenario{
	{name: "BareCopyKilled", run: testBareCopy},
	{name: "Killed", run: testKilled},
	{name: "Churn", run: testChurn},
	{name: "Zombie", run: testZombie},
	{name: "Replaced", run: testReplaced},
	{name: "Poisoned", run: testPoisoned},
	{name: "AtLeastOnce", run: testAtLeastOnce},
	{name: "Drain", run: testDrain},
	{name: "GateStop", run: testGateStop},
	{name: "GateHold", run: testGateHold},
	{name: "Reload", run: testReload},
	{name: "UntilLatest", run: testUntilLatest},
	{name: "IntoFiles", run: testIntoFiles},
	{name: "DiskFull", run: testDiskFull},
	{name: "FromFiles", run: testFromFiles},
	{name: "Tables", run: testTables},
	{name: "KafkaGo", run: testKafkaGo},
	{name: "Soak", run: testSoak, alone: true},
}

// What needs three: brokers that are killed, and the network before them.
var threeBrokers = []scenario{
	{name: "BrokerKilled", run: testBrokerKilled},
	{name: "NetworkCut", run: testNetworkCut},
}
