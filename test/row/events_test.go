package row

import "fmt"

// event is something that people, other writers, the cluster or the network do.
type event struct {
	name string
	may  func(*world) bool
	do   func(*world)
}

// edits is how many of the events are edits of configs, which come first.
const edits = 8

func allEvents() (all []event) {
	add := func(name string, may func(*world) bool, do func(*world)) { all = append(all, event{name, may, do}) }
	always := func(*world) bool { return true }
	for k := range keys {
		for v := range uint8(values) {
			if k == keyB && v > good {
				continue // as of A
			}
			add(fmt.Sprintf("%s=%d", configs[k].Name, v), func(w *world) bool { return w.values[k] != v }, func(w *world) {
				w.values[k] = v
				w.table.Edit(contents[k][v], at(w.now))
			})
		}
	}
	add("A is replaced by itself", always, func(w *world) {
		delete(w.table.current, configs[keyA])
		w.table.Edit(contents[keyA][w.values[keyA]], at(w.now))
	})
	add("takeover", func(w *world) bool {
		for i := range workloads {
			if w.involves(i) {
				return true
			}
		}
		return len(w.table.halts) > 0
	}, (*world).takeOver)
	for i := range workloads {
		on := func(what string, may func(*world, *simWorkload) bool, do func(*world, *simWorkload)) {
			add(refs[i].Name+" "+what, func(w *world) bool { return may(w, &w.workloads[i]) }, func(w *world) { do(w, &w.workloads[i]) })
		}
		for i, what := range []string{
			"is refused", "is written, the answer lost", "is written late, the answer lost", "is not written, the leader dies", "is written, the leader dies",
		} {
			answer := accepts + 1 + answer(i)
			on(what, func(_ *world, s *simWorkload) bool { return !s.isOff && s.replicas > 0 }, func(w *world, s *simWorkload) { // at the next tick
				s.answer = answer
				w.tick()
				w.isVoid = s.answer != accepts // it was not written
			})
		}
		on("has the late write", func(_ *world, s *simWorkload) bool { return s.late != nil }, func(w *world, s *simWorkload) {
			s.carryOut(w, s.lateRecord, s.late)
		})
		on("is restarted by others", func(w *world, _ *simWorkload) bool { return w.involves(i) }, func(_ *world, s *simWorkload) { s.newRollout() })
		for template, what := range []string{"service", "sleep", "broken"} {
			isOther := func(w *world, s *simWorkload) bool { return w.involves(i) && s.template != uint8(template) }
			on("is released as "+what, isOther, func(w *world, s *simWorkload) {
				r := w.table.rows[refs[i]]
				w.isExcused = r.isExposed() && !r.hasBroken
				s.template, s.late, s.isReleased = uint8(template), nil, true
				s.newRollout()
			})
		}
		on("is scaled to 0", func(w *world, s *simWorkload) bool { return w.involves(i) && s.replicas > 0 }, func(w *world, s *simWorkload) {
			r := w.table.rows[refs[i]]
			w.isExcused = r.isExposed() && !r.hasBroken && w.pods(i).any((*Pod).isBroken)
			s.replicas, s.pods = 0, [2]simPod{}
		})
		on("is scaled up", func(_ *world, s *simWorkload) bool { return s.replicas < 2 }, func(_ *world, s *simWorkload) {
			s.replicas, s.brings = max(s.wanted, s.replicas+1), [keys]values8{} // what new pods read is not our doing
		})
		on("is off or on", func(w *world, s *simWorkload) bool { return s.isOff || w.involves(i) }, func(_ *world, s *simWorkload) { s.isOff = !s.isOff })
		on("lacks a node or has one", func(w *world, s *simWorkload) bool { return s.lacksNode || w.involves(i) }, func(_ *world, s *simWorkload) {
			s.lacksNode = !s.lacksNode
		})
		if i == 1 {
			on("has a sick pod or none", func(w *world, s *simWorkload) bool {
				return s.isSick || s.recorded == nil && w.table.rows[refs[i]].state == Settled
			}, func(w *world, s *simWorkload) {
				s.isSick = !s.isSick
				if pod := &s.pods[1]; pod.exists && pod.state != Unstarted {
					pod.become(s.outcome(i, 1, pod), w.now)
				}
			})
		}
		on("flickers", func(w *world, s *simWorkload) bool { return w.involves(i) && s.steady() != nil }, func(w *world, s *simWorkload) {
			s.steady().become(Unready, w.now)
		})
	}
	return all
}

// involves reports whether it matters what happens to a workload: a restart of it is due, or is not over, or it has failed.
func (w *world) involves(i int) bool {
	r := w.table.rows[refs[i]]
	return r.due != nil || r.state != Settled
}

// steady returns a pod of the present rollout that runs, nil if there is none.
func (s *simWorkload) steady() *simPod {
	for p := range s.pods {
		if pod := &s.pods[p]; pod.exists && pod.state == Ready && !pod.isOld {
			return pod
		}
	}
	return nil
}
