package decide

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// decide lets the leader decide, and reports whether there is nothing to do.
func (d *duo) decide() bool {
	r := d.replicas[d.leader]
	view, _ := r.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if decision.Outcome != Keep && d.isUnconfirmed(&view) {
		d.tells("decided by "+r.name, "later")
		return false
	}
	by := ""
	if decision.Outcome == AskPods {
		by, decision = ", by the pods", ByPods(view, d.podsOf(view.Workload))
	}
	d.tells("decided by "+r.name, d.letter(decision, meaningOf(&decision, by)))
	if decision.Outcome == Keep {
		if decision.Verified {
			r.catalog.ObserveKept(view)
		}
		return true
	}
	d.pending = &pendingWrite{d.now, view, decision, len(r.configs) > 0}
	return false
}

// isUnconfirmed reports whether a config that has to be read before a decision is not what the
// catalog knows.
func (d *duo) isUnconfirmed(view *catalog.View) bool {
	return slices.ContainsFunc(Unconfirmed(view), func(ref names.ConfigRef) bool {
		live := d.live[ref.Name]
		return live == nil || !content.NewConfigMap(live).Keys.Equal(view.Configs[ref].Keys)
	})
}

// podsOf returns the pods of the template that a catalog knows.
func (d *duo) podsOf(w *workload.Workload) []Pod {
	var pods []Pod
	for _, pod := range d.pods {
		if pod.template == d.templates[w.PodTemplate] {
			pods = append(pods, Pod{Started: []Start{{"app", objecttest.NoonPlus(pod.started)}}})
		}
	}
	return pods
}

// write carries out what was decided, unless it is put off, or somebody else was faster. The answer
// may be lost, which a leader notices when it sees its record.
func (d *duo) write(how string) {
	pending, r := d.pending, d.replicas[d.leader]
	if d.pending = nil; pending == nil {
		return
	}
	view, decision := pending.view, pending.decision
	isOutdated := view.Workload.ResourceVersion != d.deployment.ResourceVersion
	switch {
	case decision.Outcome == Restart && decision.Contradicts && (how == "mark" || how == "fail"):
		d.putOff(r, pending, how == "mark" && !view.Workload.Record.Marked && !isOutdated)
		return
	case isOutdated:
		r.catalog.ObserveRead(catalogtest.MustWorkload(d.deployment))
		d.tells("record", "conflict")
		return
	case decision.Outcome == Restart:
		if *d.restarts++; !d.isStale() {
			*d.needless++
		}
		d.timestamps = append(d.timestamps, objecttest.NoonPlus(d.now).Format(time.RFC3339Nano))
		objecttest.SetTimestamp(d.deployment, d.timestamps[len(d.timestamps)-1])
	}
	catalogtest.WriteRecord(d.deployment, decision.Checksums, objecttest.NoonPlus(pending.at))
	d.changed()
	d.tells("record", map[bool]string{false: "made", true: "restart"}[decision.Outcome == Restart]+map[bool]string{true: "-answer-lost"}[how == "lost"])
	d.blind, d.recorded = pending.blind, objecttest.Data{}
	for name, config := range d.live {
		d.recorded[name] = config.Data["key"]
	}
	if decision.Outcome == Restart {
		d.rollOut(false)
	}
	if how == "lost" {
		d.show(r, 0, len(r.workloads))
		r.catalog.ObserveCarriedOut(objecttest.DeploymentRef("web"), objecttest.NoonPlus(pending.at), view.Sequence)
	} else {
		r.catalog.ObserveWritten(catalogtest.MustWorkload(d.deployment), view.Sequence)
	}
}

// putOff is that a restart fails or has to wait, which the record may be marked for.
func (d *duo) putOff(r *replica, pending *pendingWrite, marks bool) {
	since := pending.decision.PutOff(objecttest.NoonPlus(d.now))
	if pending.decision.Unseen {
		r.catalog.ObserveContradicted(pending.view, since)
	}
	d.tells("record", "put-off")
	if !marks {
		return
	}
	if annotations, can, err := Mark(&pending.view, since, pending.decision.Unseen); err == nil && can {
		maps.Copy(d.deployment.Annotations, annotations)
		d.changed()
		r.catalog.ObserveMarked(catalogtest.MustWorkload(d.deployment))
		d.tells("record", "mark")
	}
}

// actions returns what can happen.
func (d *duo) actions(t *rapid.T) map[string]func() {
	name := func() string { return rapid.SampledFrom([]string{"x", "y"}).Draw(t, "config") }
	next := func() string { d.contents++; return strconv.Itoa(d.contents) }
	return map[string]func(){
		"edit": func() {
			if n := name(); d.live[n] != nil {
				d.setConfig(n, next())
			}
		},
		"take back": func() {
			n := name()
			if content, found := d.recorded[n]; found && d.live[n] != nil {
				d.setConfig(n, content)
			}
		},
		"delete": func() { d.deleteConfig("x") },
		"create": func() {
			if d.live["x"] != nil {
				return
			}
			content := d.last["x"]
			if rapid.Bool().Draw(t, "other content") {
				content = next()
			}
			d.setConfig("x", content)
		},
		"replace a pod": func() { d.pods[0] = d.newPod(d.pods[0].template) },
		"roll on":       func() { d.rollOut(true) },
		"label": func() {
			d.deployment.Labels = objecttest.Data{"label": strconv.Itoa(d.version)}
			d.changed()
			d.tells("deployment", "labeled")
		},
		"release": func() { d.release(strconv.Itoa(d.version)); d.rollOut(rapid.Bool().Draw(t, "completely")) },
		"release and take back": func() {
			image := d.deployment.Spec.Template.Spec.Containers[0].Image
			d.release("other")
			d.release(image)
		},
		"rewind": func() {
			objecttest.SetTimestamp(d.deployment, rapid.SampledFrom(append([]string{""}, d.timestamps...)).Draw(t, "timestamp"))
			d.changed()
			d.rollOut(rapid.Bool().Draw(t, "completely"))
			d.tells("deployment", "timestamp="+annotation.TimestampOf(&d.deployment.Spec.Template))
		},
		"take over": func() {
			if !d.blind {
				d.leader, d.pending = 1-d.leader, nil
				d.tells("leader", d.replicas[d.leader].name)
			}
		},
		"show some": func() {
			r := d.replicas[rapid.IntRange(0, 1).Draw(t, "replica")]
			d.show(r, rapid.IntRange(0, 3).Draw(t, "configs"), rapid.IntRange(0, 3).Draw(t, "workloads"))
		},
		"show all": func() { d.showAll() },
		"decide":   func() { d.decide() },
		"write":    func() { d.write(rapid.SampledFrom([]string{"done", "done", "lost", "mark", "fail"}).Draw(t, "how")) },
	}
}

func (d *duo) release(image string) {
	d.deployment.Spec.Template.Spec.Containers[0].Image = image
	d.changed()
	d.tells("deployment", "image="+image)
}

// showAll lets the watches of the leader catch up.
func (d *duo) showAll() {
	r := d.replicas[d.leader]
	d.show(r, len(r.configs), len(r.workloads))
}

// settle lets the leader finish.
func (d *duo) settle() {
	d.pending = nil
	for range 6 {
		d.now += 10
		d.showAll()
		d.rollOut(true)
		if d.decide() {
			return
		}
		d.write("done")
	}
}

// The promise holds for a leader and a standby whose watches are behind, too.
func TestNoRestartIsLostWhereWatchesAreBehindAndAStandbyTakesOver(t *testing.T) {
	playHistories(t, "4000")
	restarts, needless := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := newDuo(t, &restarts, &needless)
		d.decide()
		d.write("done")
		for _, r := range d.replicas {
			d.show(r, len(r.configs), len(r.workloads))
		}
		actions := d.actions(t)
		names := rapid.Permutation(slices.Sorted(maps.Keys(actions))).Draw(t, "actions")
		names = append(names[:rapid.IntRange(3, len(names)).Draw(t, "kinds")], "decide", "write", "show all", "replace a pod")
		for range rapid.IntRange(6, 40).Draw(t, "steps") {
			d.now += 10
			actions[rapid.SampledFrom(names).Draw(t, "action")]()
		}
		if d.settle(); d.isStale() {
			d.fail("In the end, pods run with another content")
		}
	})
	t.Logf("%d of %d restarts came when all pods had read the present content already", needless, restarts)
}
