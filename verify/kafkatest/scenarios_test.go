package kafkatest

// Scenarios with one broker. Measuring scenarios run alone, the others in parallel: most of the
// time they wait.
var oneBroker = []scenario{
	{name: "BareCopyKilled", run: testBareCopy},
	{name: "Killed", run: testKilled},
	{name: "Churn", run: testChurn},
	{name: "Zombie", run: testZombie},
	{name: "Replaced", run: testReplaced},
	{name: "Poisoned", run: testPoisoned},
	{name: "Refused", run: testRefused},
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
	{name: "Crowd", run: testCrowd, alone: true},
	{name: "Soak", run: testSoak, alone: true},
}

// Scenarios with three brokers: killed brokers, and network faults.
var threeBrokers = []scenario{
	{name: "BrokerKilled", run: testBrokerKilled},
	{name: "NetworkCut", run: testNetworkCut},
}
