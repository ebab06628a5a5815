package browser

import (
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// busy is a cluster in which everything happens at once.
func busy() content {
	o := busyOverview()
	return content{o, busyWorkload(o.Rolling.Items[0]), busyConfig(o), busyListing()}
}

// busyListing has what either list may have, and more pages than a line has room for.
func busyListing() *status.Listing {
	asked := status.Selection{What: status.ListWorkloads, Namespace: "shop", Page: 2, Query: "c", States: []status.State{status.Rolling, status.Held}}
	return &status.Listing{Selection: asked, Total: 19_999, Pages: 100, Items: []status.Listed{
		{Name: "deployment/shop/checkout", State: status.Rolling}, {Name: "deployment/shop/cart", State: status.Settled}, {Name: webConfig, State: status.Held, Workloads: 3},
	}}
}

// list returns a list of these and further ones, which it does not have.
func list[T any](more int, items ...T) status.List[T] {
	return status.List[T]{Total: len(items) + more, Items: items}
}

const webConfig = "configmap/shop/web-config"

// What is broken.
const (
	invoiceRenderer = "deployment/billing/invoice-renderer"
	database        = "secret/billing/database"
)

func busyOverview() *status.Overview {
	ofDatabase := status.Entry{State: status.Held, Reason: "halt", On: database, For: database, Beginning: status.Beginning{Since: before(5 * time.Minute)}}
	mailer, ledger := ofDatabase, ofDatabase
	mailer.Workload, ledger.Workload = "deployment/billing/invoice-mailer", "deployment/billing/ledger"
	return &status.Overview{
		Leads: true, Workloads: 214, Configs: 1032,
		Pending: list(0, status.Entry{Workload: "statefulset/data/kafka", State: status.Pending, For: "configmap/data/kafka-config: server.properties", Beginning: status.Beginning{Since: before(2 * time.Second)}, Until: before(-3 * time.Second)}),
		Waiting: list(25, waiting()...),
		Held: list(0, mailer, ledger,
			status.Entry{Workload: "daemonset/infra/node-agent", State: status.Held, Reason: "window", For: "configmap/infra/agent: agent.yaml", Beginning: status.Beginning{Since: before(3 * time.Hour)}, Until: before(-30 * time.Hour)},
			status.Entry{Workload: "deployment/search/query", State: status.Held, Reason: "eviction", Text: "a PodDisruptionBudget allows no disruption", For: "configmap/search/query: cache", Beginning: status.Beginning{Since: before(4 * time.Minute)}},
			status.Entry{Workload: "deployment/search/indexer", State: status.Held, Reason: "hold", Text: "reindexing until Thursday, ask Ana", For: "configmap/search/indexer: workers", Beginning: status.Beginning{Since: before(26 * time.Hour)}}),
		Slowed:  list(0, status.Entry{Workload: "deployment/ads/bidder", State: status.Slowed, Reason: "backoff", For: "configmap/ads/rates: rates.json", Beginning: status.Beginning{Since: before(90 * time.Second)}, Until: before(-4 * time.Minute)}),
		Rolling: list(0, status.Entry{Workload: "deployment/shop/checkout", State: status.Rolling, For: webConfig + ": LOG_LEVEL", Beginning: status.Beginning{Since: before(12 * time.Second)}, Pods: &status.Pods{Wanted: 10, Updated: 4, Outdated: 8, Available: 9}}),
		Failed:  list(0, status.Entry{Workload: invoiceRenderer, State: status.Failed, For: database, Beginning: status.Beginning{Since: before(312 * time.Second)}, Pods: &status.Pods{Wanted: 6, Updated: 2, Outdated: 5, Available: 5}}),
		FanOuts: list(0,
			status.FanOut{Config: webConfig, Beginning: status.Beginning{Since: before(80 * time.Second)}, Total: 47, Delivered: 7, Rolling: 3, Waiting: 37},
			status.FanOut{Config: database, Beginning: status.Beginning{Since: before(310 * time.Second)}, Total: 3, Waiting: 2, Unserved: 1}),
		Halts:    list(0, status.Halt{ID: "3f9a", Config: database, Failed: []string{invoiceRenderer}, Held: 2, Since: before(5 * time.Minute), Resume: "kubectl annotate --overwrite -n billing secret/database com.xing.deployment-restart.resume=3f9a"}),
		Restarts: restarts(),
		Rollouts: &status.Rollouts{Driving: true, Detail: "driving 214 Deployments", Rolling: list(0,
			status.Rollout{Deployment: "deployment/shop/checkout", Strategy: "RollingUpdate", Wanted: 10, New: status.Replicas{Sets: 1, Wanted: 5, Present: 5, Available: 3}, Old: status.Replicas{Sets: 1, Wanted: 7, Present: 7, Available: 7}},
			status.Rollout{Deployment: invoiceRenderer, Strategy: "RollingUpdate", Wanted: 6, New: status.Replicas{Sets: 1, Wanted: 2, Present: 2}, Old: status.Replicas{Sets: 2, Wanted: 5, Present: 5, Available: 5}, Problem: "progress deadline exceeded: no progress for 600 s"})},
	}
}

func waiting() (all []status.Entry) {
	for i := range 12 {
		all = append(all, status.Entry{Workload: fmt.Sprintf("deployment/shop/front-%02d", i), State: status.Waiting, Reason: "slow-start", On: webConfig, For: webConfig + ": LOG_LEVEL", Beginning: status.Beginning{Since: before(40 * time.Second)}})
	}
	all[3].Exposed = true
	all[4].Reason, all[4].On = "limit", ""
	return all
}

func restarts() status.List[status.Restart] {
	return list(0,
		status.Restart{Time: before(12 * time.Second), Workload: "deployment/shop/checkout", Cause: webConfig + ": LOG_LEVEL"},
		status.Restart{Time: before(40 * time.Second), Workload: "deployment/shop/cart", Cause: webConfig + ": LOG_LEVEL", Outcome: status.Delivered, Took: 21},
		status.Restart{Time: before(5 * time.Minute), Workload: invoiceRenderer, Cause: database, Outcome: status.Broken, Took: 31, Why: "a pod is broken: CrashLoopBackOff"},
		status.Restart{Time: before(49 * time.Hour), Workload: "statefulset/data/postgres", Cause: "configmap/data/postgres: postgresql.conf", Outcome: status.Recovered, Took: 3700, Why: "its pods run after all"})
}

func busyWorkload(entry status.Entry) *status.Workload {
	return &status.Workload{
		Entry: entry, EnabledBy: "its annotation com.xing.deployment-restart", Method: "evict", GracePeriod: 5, Problems: []string{"the window cannot be read: expected 5 fields"}, Window: "* *", Wave: 2,
		Holds:  list(0, status.Hold{On: entry.Workload, Text: "ask Ana", Beginning: status.Beginning{Since: before(time.Hour)}}),
		ByHand: "its update strategy is OnDelete",
		Reads: list(3,
			status.Seen{Config: webConfig, Exists: new(true), KeyCount: 2, Keys: []string{"LOG_LEVEL", "COLOR"}, ReadAs: "environment, files, API"},
			status.Seen{Config: "secret/shop/checkout-credentials", Exists: new(true), AllKeys: true, KeyCount: 3},
			status.Seen{Config: "configmap/shop/overrides", Exists: new(true), Optional: true, AllKeys: true, ReadAs: "files", Ignored: true}),
		Record:   status.Record{Trusted: true, Written: before(12 * time.Second), Configs: 2, Problem: "it is from a newer version"},
		Decision: status.Decision{Outcome: "restart", Reason: "a config has changed", Causes: webConfig + ": LOG_LEVEL"},
		Gate:     &status.Answer{Reason: "slow-start", On: webConfig, Why: "3 restarts are under way", Until: before(-time.Minute)},
		Change:   &status.Change{Since: before(2 * time.Second), Due: before(-3 * time.Second), For: []string{webConfig}},
		Last:     &restarts().Items[2],
	}
}

// spread are the restarts of a slow start, of which the last ones are under way.
func spread() status.List[status.Restart] {
	l := list[status.Restart](9)
	for i := range 50 {
		r := status.Restart{Time: before(time.Duration(120-10*min(i, 4)-i) * time.Second), Workload: fmt.Sprintf("deployment/shop/front-%02d", i), Cause: webConfig, Outcome: status.Delivered, Took: 9}
		switch {
		case i == 2:
			r.Outcome, r.Why = status.Broken, "a pod is broken: CrashLoopBackOff"
		case i == 3:
			r.Outcome = status.Unknown
		case i > 46:
			r.Outcome, r.Took = "", 0
		}
		l.Items = append(l.Items, r)
		l.Total++
	}
	return l
}

func busyConfig(o *status.Overview) *status.Config {
	return &status.Config{
		Name: webConfig, Exists: new(true), KeyCount: 3, Keys: []string{"COLOR", "GREETING", "LOG_LEVEL"}, Content: "8c1f0a22", Gradual: true,
		Hold: "until the freeze ends", Mistake: &status.Mistake{Problem: "its window cannot be read", Beginning: status.Beginning{Since: before(time.Minute)}}, Window: "* *", SharedWith: "team-a,team-b", Ignored: true,
		States:  map[status.State]int{status.Settled: 5, status.Soaking: 2, status.Rolling: 3, status.Deciding: 2, status.Pending: 1, status.Waiting: 37, status.Slowed: 1, status.Held: 2, status.Failed: 1},
		Readers: list(37, append(slices.Clone(o.Rolling.Items), o.Waiting.Items...)...), FanOuts: o.FanOuts, Halts: o.Halts, Restarts: spread(), MissesRestarts: true,
	}
}
