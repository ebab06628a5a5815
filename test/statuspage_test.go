package test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/test/harness"
)

// statusPage is what the controller has shown of a test's namespace.
type statusPage struct {
	*scene
	said strings.Builder // all answers
}

// get requests a path, which must be found.
func (p *statusPage) get(ctx context.Context, path string) (string, error) {
	code, body, err := p.controller.GetStatus(ctx, path)
	p.said.WriteString(body)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, code, body)
	}
	return body, err
}

func read[T any](ctx context.Context, p *statusPage, path string) (into T, err error) {
	body, err := p.get(ctx, path)
	if err == nil {
		err = json.Unmarshal([]byte(body), &into)
	}
	return into, err
}

// await waits until the overview and the page of the settings show something, and returns the overview.
func (p *statusPage) await(what string, isShown func(*status.Overview, *status.Config) bool) (o status.Overview) {
	p.Helper()
	p.eventually("the status shows "+what, func(ctx context.Context) error {
		c, errConfig := read[status.Config](ctx, p, "/config/"+settings.key(p.namespace)+"/status.json")
		overview, err := read[status.Overview](ctx, p, "/status.json")
		if err = errors.Join(err, errConfig); err != nil {
			return err
		}
		if o = overview; !isShown(&o, &c) {
			return fmt.Errorf("it shows %+v and %+v", o, c)
		}
		return nil
	})
	for _, path := range []string{"/", "/config/" + settings.key(p.namespace), "/config/" + credentials.key(p.namespace), "/config/" + credentials.key(p.namespace) + "/status.json"} {
		_, err := p.get(p.Context(), path)
		p.must(err)
	}
	return o
}

func TestTheStatusPageShowsAnEditOnItsWayAndWhatHaltsIt(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--fan-out=gradual", "--restart-soak=2s", "--status-address=127.0.0.1:0")
	p := &statusPage{scene: s}
	s.make(settings, set("used", "canary-first"))
	s.make(credentials, set("hush-key", "canary-secret"))
	var all []workload
	for _, name := range []string{"app-1", "app-2", "app-3"} {
		all = append(all, s.run(name, podOf(envFrom(settings), envKey(credentials, "hush-key"))))
	}
	r := s.readersOf(all...)

	heal := s.crashRestartedPodsUntil()
	s.stretchGrace(all...)
	s.edit(settings, set("used", "canary-bad"))
	p.await("the readers in their grace period", func(o *status.Overview, c *status.Config) bool {
		return o.Pending.Total == 3 && c.States[status.Pending] == 3 && o.Pending.Items[0].For == settings.key(s.namespace)
	})
	s.endGrace(all...)
	o := p.await("one that rolls, and those that wait for it", func(o *status.Overview, c *status.Config) bool {
		return o.Rolling.Total == 1 && o.Waiting.Total == 2 && c.States[status.Waiting] == 2 && c.FanOuts.Total == 1
	})
	if f := o.FanOuts.Items[0]; f.Config != settings.key(s.namespace) || f.Total != 3 || f.Rolling != 1 || f.Waiting != 2 {
		t.Errorf("fan-out: %+v", f)
	}
	waiting, err := read[status.Workload](s.Context(), p, "/workload/"+o.Waiting.Items[0].Workload+"/status.json")
	s.must(err)
	if g := waiting.Gate; waiting.Decision.Outcome != "restart" || g == nil || g.MayBegin || g.Reason != "slow-start" {
		t.Errorf("it waits, and is explained as %+v, %+v", waiting, waiting.Gate)
	}

	o = p.await("a halt, and the rollout that does not go on", func(o *status.Overview, _ *status.Config) bool {
		return o.Halts.Total == 1 && o.Failed.Total == 1 && o.Held.Total == 2 && o.Rollouts != nil && o.Rollouts.Rolling.Total == 1
	})
	broken := o.Failed.Items[0].Workload
	p.requireHalt(&o.Halts.Items[0], broken)
	rollout := o.Rollouts.Rolling.Items[0]
	if rollout.Deployment != broken || rollout.New.Sets != 1 || rollout.New.Available != 0 || !o.Rollouts.Driving {
		t.Errorf("rollout: %+v of %s", rollout, broken)
	}

	heal()
	s.edit(settings, set("used", "canary-good"))
	o = p.await("all restarts delivered", func(o *status.Overview, c *status.Config) bool {
		return o.Restarts.Total == 4 && o.FanOuts.Total == 0 && o.Rolling.Total == 0 && c.States[status.Settled] == 3
	})
	for i, restart := range o.Restarts.Items {
		isFirst := i == len(o.Restarts.Items)-1
		if want := map[bool]status.Outcome{false: status.Delivered, true: status.Broken}[isFirst]; restart.Outcome != want || restart.Cause != "configmap/settings: used" {
			t.Errorf("restart %d: %+v", i, restart)
		}
	}
	r.requireRestarted(all...)
	_, err = p.get(s.Context(), "/workload/"+broken)
	s.must(err)
	p.requireAbsent("canary", "hush-key", base64.StdEncoding.EncodeToString([]byte("canary-secret")))
}

// requireHalt fails the test unless the status shows the same about a halt as the Event.
func (p *statusPage) requireHalt(halt *status.Halt, broken string) {
	p.Helper()
	id := p.awaitEventOn(settings, "RestartsHalted", resumeAnnotation+`=(\w+)$`)[1]
	want := status.Halt{
		ID: id, Config: settings.key(p.namespace), Keys: []string{"used"}, Failed: []string{broken}, Held: 2, Since: halt.Since, Command: halt.Command,
		Resume: "kubectl annotate --overwrite -n " + p.namespace + " configmap/settings " + resumeAnnotation + "=" + id,
	}
	if diff := cmp.Diff(want, *halt); diff != "" {
		p.Error(diff)
	}
	page, err := p.get(p.Context(), "/")
	p.must(err)
	for _, command := range []string{halt.Resume, halt.Command} {
		if command == "" || !strings.Contains(html.UnescapeString(page), "<code>"+command+"</code>") {
			p.Errorf("the page lacks the command %q: %s", command, page)
		}
	}
}

func TestTheStatusPageOfAStandbyNamesTheLeader(t *testing.T) {
	s := newSceneApart(t)
	leader, standby := s.startReplicas(longLease, "--status-address=127.0.0.1:0")
	host, err := os.Hostname()
	s.must(err)
	for replica, leads := range map[*harness.Controller]bool{leader: true, standby: false} {
		s.controller = replica
		s.eventually("the replica names the leader", func(ctx context.Context) error {
			o, err := read[status.Overview](ctx, &statusPage{scene: s}, "/status.json")
			if err == nil && (o.Leads != leads || o.Leader != host) {
				err = fmt.Errorf("it says that %q leads, itself: %t", o.Leader, o.Leads)
			}
			return err
		})
	}
	for path, want := range map[string]int{"/": http.StatusOK, "/config/" + settings.key(s.namespace): http.StatusServiceUnavailable} {
		code, page, err := standby.GetStatus(s.Context(), path)
		s.must(err)
		if code != want || !strings.Contains(page, "The leader is <code>"+html.EscapeString(host)+"</code>") {
			t.Errorf("%s: %d %s", path, code, page)
		}
	}
}

// requireAbsent fails the test if an answer had one of these in it.
func (p *statusPage) requireAbsent(hidden ...string) {
	p.Helper()
	for _, text := range hidden {
		if i := strings.Index(p.said.String(), text); i >= 0 {
			p.Errorf("%q is shown: %s", text, p.said.String()[max(0, i-200):i+100])
		}
	}
}
