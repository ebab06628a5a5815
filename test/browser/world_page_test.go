package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// shop are the workloads that read its settings.
var shop = []string{"cart", "catalog", "checkout", "coupons", "delivery", "images", "login", "payment", "profile", "ratings", "search", "stock"}

// manifests are of namespaces where a config reaches its readers, where one breaks them, and where a
// person holds restarts.
func manifests() string {
	spec := func(replicas int, deadline int, from string) string {
		return fmt.Sprintf(`
  replicas: %d
  progressDeadlineSeconds: %d
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: app, image: example/app, envFrom: [%s]}]}`, replicas, deadline, from)
	}
	const slowly = "\n  minReadySeconds: 1"
	return deployments("shop", `{apiVersion: v1, kind: ConfigMap, metadata: {name: web-config, namespace: shop}, data: {LOG_LEVEL: info, CURRENCY: EUR}}`,
		slowly+spec(6, 600, "{configMapRef: {name: web-config}}"), shop...) +
		deployments("billing", `{apiVersion: v1, kind: Secret, metadata: {name: database, namespace: billing}, stringData: {password: canary}}`,
			spec(3, 4, "{secretRef: {name: database}}"), "invoices", "ledger", "reminders") +
		deployments("analytics", `{apiVersion: v1, kind: ConfigMap, metadata: {name: indexer, namespace: analytics}, data: {WORKERS: "4"}}`,
			spec(1, 600, "{configMapRef: {name: indexer}}"), "indexer")
}

func TestThePagesFollowACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a control plane: left out with -short")
	}
	t.Parallel()
	b := openTab(t)
	w := openWorld(t, manifests())
	b.visit("http://" + w.leader.StatusAddress() + "/")
	b.awaitText("#live", "live")
	b.awaitText("main > p:not(.note)", "Nothing waits or rolls.")
	b.run(`window.mark = 1`)

	w.edit("analytics", "configmap/indexer", `{"metadata":{"annotations":{"com.xing.deployment-restart.hold":"reindexing until Thursday, ask Ana"}},"data":{"WORKERS":"8"}}`)
	b.awaitText("#held a", "deployment/analytics/indexer")
	w.breakPods("billing")
	w.edit("billing", "secret/database", `{"stringData":{"password":"canary-2"}}`)
	b.awaitText("#halts h3", "secret/billing/database")
	w.edit("shop", "configmap/web-config", `{"data":{"LOG_LEVEL":"debug"}}`)
	w.awaitHalfway("configmap/shop/web-config")
	b.awaitText("#rollouts dt", "new")
	if isSame := evaluate[bool](b, "window.mark === 1"); !isSame {
		t.Error("the page was loaded again")
	}
	b.eventually("a rollout has two bars with pods that run", func() error {
		if trading := evaluate[int](b, trading); trading == 0 {
			return errors.New(b.text("#rollouts"))
		}
		return nil
	})
	b.picture("status-rollouts", "#rollouts", "light")
	b.picture("status-overview", "", "light")
	halted := evaluate[string](b, `[...document.querySelectorAll("#held td a")].find(link => link.innerText.startsWith("deployment/billing/")).href`)
	w.requireOtherPagesToFollow(b, halted)
	b.requireNoTrouble(w.leader.StatusAddress())

	b.visit("http://" + w.leader.StatusAddress() + "/")
	w.edit("analytics", "configmap/indexer", `{"metadata":{"annotations":{"com.xing.deployment-restart.hold":"`+strings.ReplaceAll(hostile, `"`, `\"`)+`"}}}`)
	b.eventually("the reason of the hold is text", func() error {
		if shown := b.text("#held"); !strings.Contains(shown, hostile) {
			return errors.New(shown)
		}
		return nil
	})
	w.kubectl(strings.Fields(b.text("#halts pre:last-of-type"))[1:]...)
	b.eventually("the command of the page ends the halt", func() error {
		if shown := b.text("#halts"); shown != "" {
			return errors.New(shown)
		}
		return nil
	})
	b.requireNoTrouble(w.leader.StatusAddress())
	w.requireStandbyToNameTheLeader(b)
}

// trading counts the rollouts with both new and old pods that run.
const trading = `[...document.querySelectorAll("#rollouts .card")].filter(card => card.querySelectorAll("rect.delivered").length === 2).length`

// requireOtherPagesToFollow looks at the page of the settings of the shop while they are on their way, and at that of a
// workload that a halt holds.
func (w *world) requireOtherPagesToFollow(b *tab, halted string) {
	w.Helper()
	b.visit("http://" + w.leader.StatusAddress() + "/config/configmap/shop/web-config")
	b.awaitText("#live", "live")
	if squares := evaluate[int](b, `document.querySelectorAll("svg.grid rect").length`); squares != len(shop) {
		w.Errorf("%d readers are %d squares", len(shop), squares)
	}
	b.picture("status-config", "", "dark")
	b.visit(halted)
	b.awaitText("#live", "live")
	if shown := b.text("main"); !strings.Contains(shown, "held: the halt of secret/billing/database") || !strings.Contains(shown, "the restart may not begin yet") {
		w.Errorf("a halted workload: %s", shown)
	}
	b.picture("status-workload", "", "light")
}

func (w *world) requireStandbyToNameTheLeader(b *tab) {
	w.Helper()
	leader, err := os.Hostname()
	w.must(err)
	b.visit("http://" + w.standby.StatusAddress() + "/")
	if shown := b.text("main"); !strings.Contains(shown, "This replica stands by") || !strings.Contains(shown, leader) {
		w.Errorf("the standby shows %s", shown)
	}
}

// edit changes an object.
func (w *world) edit(namespace, object, patch string) {
	w.Helper()
	w.kubectl("patch", "-n", namespace, object, "--type=merge", "-p", patch)
}

// awaitHalfway waits until a config has reached some of its readers, and others roll and wait.
func (w *world) awaitHalfway(config string) {
	w.Helper()
	w.eventually(config+" is on its way", func(ctx context.Context) error {
		o, err := w.overview(ctx)
		if err != nil {
			return err
		}
		for _, f := range o.FanOuts.Items {
			if f.Config == config && f.Delivered >= 3 && f.Rolling >= 2 && f.Waiting >= 3 {
				return nil
			}
		}
		return fmt.Errorf("the fan-outs are %+v", o.FanOuts)
	})
}
