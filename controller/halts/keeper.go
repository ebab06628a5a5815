package halts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// Period is how often the ConfigMap of halts is read.
	Period = 10 * time.Second
	// Patience is for how long nobody is admitted because the halts of former leaders cannot be
	// read.
	Patience = time.Minute
)

// Scope is which namespaces this process watches, and of which it has listed everything.
type Scope struct {
	// KnowsConfigs reports whether all configs of a namespace have been listed, and KnowsAllConfigs whether
	// those of all namespaces have. Watches reports whether this process watches a namespace: another
	// controller may keep the halts of other namespaces in the same place. HasGroups means that it is the
	// one that keeps the halts of groups.
	KnowsConfigs, Watches func(namespace string) bool
	// KnowsMounts reports whether all mounts of a namespace have been listed, or are not watched.
	KnowsMounts     func(namespace string) bool
	KnowsAllConfigs func() bool
	HasGroups       bool
}

// Keeper keeps the halts in a ConfigMap, so that they outlive this process, and takes in what
// people write there: a halt that they remove is resumed.
type Keeper struct {
	Store      *store.Halts
	OptIns     *optedin.OptIns
	Gate       *gatekeeper.Gatekeeper
	Deliveries *follow.Deliveries
	Restarter  *restart.Restarter
	Mistakes   *intake.Mistakes
	Notices    *gatekeeper.Notices
	Quarantine *quarantine.Set
	Events     record.EventRecorder
	Log        *slog.Logger
	Scope
	Changed run.Signal // there is something to write
	Refused run.Signal

	// hasTakenIn means that the halts of former leaders were taken in. hasRead means that the ConfigMap was read, and
	// written if it had to be: written are the entries of the halts that it had last, by the ids of the halts, and uid is
	// which ConfigMap that was.
	hasTakenIn, hasRead bool
	written             map[string]string
	uid                 types.UID
	isRefused           bool // for lack of a permission, at the last attempt
	// reminded is when each halt was last reported, by their ids.
	reminded map[string]time.Time
}

// Run reads and writes the halts until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	start, hasReported, known := time.Now(), false, haltKnowledge{}
	ticker := time.NewTicker(Period)
	defer ticker.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.Changed:
		case <-ticker.C:
		case <-retry.C:
		}
		err := k.syncBefore(ctx, start.Add(Patience))
		followsAll := k.FollowFailed() // before anybody is admitted
		k.noteTried(err, start)
		k.NoteObject(ctx, err)
		k.EndHalts()
		known = k.useKnowledge(known, err)
		k.remind(start, time.Now())
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if hasReported {
				k.Log.Info("keeps the halts of restarts in the ConfigMap again")
			}
			if hasReported = false; !followsAll {
				retry.Reset(time.Second)
			}
		case errors.Is(err, store.ErrNoHaltsNamespace): // there is nothing to read
		case time.Since(start) < Patience:
			retry.Reset(min(time.Second, Patience-time.Since(start)))
		case !hasReported:
			hasReported = true
			k.Log.Error("cannot keep the halts of restarts, keeping them in memory only", "error", err,
				"consequence", "the next leader will not know of the halts of this one, if there are any", "remedy", "apply rbac.yaml, which contains the ConfigMap and the permission to read and update it")
		}
	}
}

// haltKnowledge is how much is known of the halts of former leaders: whether what is kept has been read, and what restarts need
// not wait for any more.
type haltKnowledge struct{ hasRead, hasTried, knowsHalts bool }

// useKnowledge lets go on what has waited for what is known now, after an attempt to read.
func (k *Keeper) useKnowledge(before haltKnowledge, err error) (now haltKnowledge) {
	now.hasRead = before.hasRead || areRead(err)
	now.hasTried, now.knowsHalts = k.Gate.KnowsOfHalts()
	if now.hasRead && !before.hasRead {
		k.Mistakes.JudgeResumes()
	}
	if now.hasTried != before.hasTried || now.knowsHalts != before.knowsHalts {
		k.Restarter.AskAgainAll("") // now, and not when it is their turn to try again
	}
	return now
}

// areRead reports whether an attempt has read all that is kept, which is nothing without a namespace.
func areRead(err error) bool { return err == nil || errors.Is(err, store.ErrNoHaltsNamespace) }

// syncBefore is sync, but while restarts wait for the halts, it gives up at a time.
func (k *Keeper) syncBefore(ctx context.Context, end time.Time) error {
	if _, knowsHalts := k.Gate.KnowsOfHalts(); !knowsHalts && time.Now().Before(end) {
		within, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = within
	}
	return k.Sync(ctx)
}

// noteTried notes that what is kept was read, or cannot be: restarts need not wait for that. After a passing failure, such as a
// refusal by an API server that has just started, the next attempt may show that everything is held, and for Patience any
// may show the halts of former leaders.
func (k *Keeper) noteTried(err error, start time.Time) {
	hasRead, isOver := areRead(err), time.Since(start) >= Patience
	if hasRead || isOver || failures.IsPermanent(err) && time.Since(start) >= store.KeyPatience {
		k.Gate.SetHaltsTried()
	}
	if hasRead || isOver {
		k.Gate.SetHaltsKnown(hasRead)
	}
}

// NoteObject notes whether the ConfigMap can be used, unless there is none or the context has ended.
func (k *Keeper) NoteObject(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, store.ErrNoHaltsNamespace) {
		k.Gate.HaltsObject.Note(err, status.ApplyManifest, time.Now())
		wasRefused := k.isRefused
		if k.isRefused = failures.RemedyOf(err) == status.GrantPermission; k.isRefused && !wasRefused {
			k.Refused.Note()
		}
	}
}

// WakeUp makes the keeper write what has changed.
func (k *Keeper) WakeUp() { k.Changed.Note() }

// FollowFailed follows the workloads that failed under former leaders, as soon as they are known, and reports
// whether all are. That has to come before the end of their halts, so that they restart first.
func (k *Keeper) FollowFailed() (followsAll bool) {
	followsAll = true
	for _, h := range k.Gate.ActiveHalts() {
		for _, ref := range h.Failed {
			if !k.Gate.KnowsWorkloads(ref.Namespace) {
				followsAll = false
				continue
			}
			k.Quarantine.Try(quarantine.Delivery, kinds.NameOfWorkload(ref), func() { k.Deliveries.FollowFailed(ref, h.Config, h.Since, len(h.Failed) == 1) })
		}
	}
	return followsAll
}

// EndHalts ends the halts of configs that are gone or have changed unseen, or whose owners have resumed them
// unseen.
func (k *Keeper) EndHalts() {
	now := time.Now()
	for _, config := range k.Gate.Halted() {
		k.Quarantine.Try(quarantine.Delivery, kinds.NameOfConfig(config), func() { k.endHaltsOf(config, now) })
	}
}

func (k *Keeper) endHaltsOf(config names.ConfigRef, now time.Time) {
	if k.Knows(config) && k.Gate.KnowsWorkloads(config.Namespace) { // those that are broken go first
		k.Gate.ContentChanged(config, now)
	}
	if k.Gate.Resume(config, now) {
		k.WakeUp()
	}
}

// Knows reports whether it is known what became of a config that has halts.
func (k *Keeper) Knows(config names.ConfigRef) bool {
	if gate.IsGroup(config) {
		return k.KnowsAllConfigs()
	}
	if config.Kind.IsPerPod() {
		return k.KnowsMounts(config.Namespace)
	}
	return k.KnowsConfigs(config.Namespace) && k.KnowsConfigs(config.Source().Namespace)
}

// Sync takes in what the ConfigMap says, and writes what it lacks.
func (k *Keeper) Sync(ctx context.Context) error {
	written := make(map[string]string)
	var uid types.UID
	hasTakenIn := false
	err := k.Store.Update(ctx, func(object *corev1.ConfigMap) bool {
		clear(written)
		uid = object.UID
		isHoldLost := k.restoreLost(object)
		if areUnreadNews := k.TakeIn(object.Data); areUnreadNews {
			k.eventUnread(object)
		}
		hasTakenIn = true
		isNoted := k.OptIns.NoteOn(object)
		return k.WriteTo(object.Data, written) || isHoldLost || isNoted
	})
	if !apierrors.IsConflict(err) { // otherwise a former leader may have written another halt just now
		k.hasTakenIn = k.hasTakenIn || hasTakenIn
	}
	if err != nil {
		return err
	}
	k.written, k.uid, k.hasRead = written, uid, true
	return nil
}

// restoreLost makes up for a ConfigMap that was deleted and created again, which no person does to resume
// restarts: the halts are written again, and so is the hold of everything, if the return value is true.
func (k *Keeper) restoreLost(object *corev1.ConfigMap) (isHoldLost bool) {
	if !k.hasRead || object.UID == k.uid {
		return false
	}
	k.Log.Warn("the ConfigMap of halts was deleted and created again, writing its entries again")
	k.written = nil
	_, isHeld := object.Data[gate.HoldEntry]
	hold := k.Gate.EverythingHeld()
	if isHoldLost = hold != "" && !isHeld; isHoldLost {
		object.Data[gate.HoldEntry] = hold
	}
	return isHoldLost
}

// TakeIn takes in halts of former leaders, halts that a person has removed, and the hold of everything. It reports whether
// other entries cannot be read than before.
func (k *Keeper) TakeIn(data map[string]string) (areUnreadNews bool) {
	entries, present := gate.ReadEntries(data), make(map[string]struct{})
	for _, h := range entries.Halts {
		present[h.ID] = struct{}{}
		isCorrected := k.Gate.IsUnread(gate.EntryOf(h.Config.String())) // it may be a former leader's, and known to nobody
		if (!k.hasTakenIn || isCorrected) && k.keeps(h.Config) {
			k.Gate.Restore(h)
		}
	}
	for _, h := range entries.Exposed {
		if !k.hasTakenIn && k.Watches(h.Workload.Namespace) {
			k.Gate.RestoreExposure(h, time.Now())
		}
	}
	for id, entry := range k.written {
		_, isPresent := present[id]
		if _, isUnread := entries.Unread[entry]; !isPresent && !isUnread { // which says nothing about what a person wants
			k.Gate.ResumeByID(id)
		}
	}
	if k.Gate.HoldEverything(entries.Hold) {
		k.Restarter.AskAgainAll("")
	}
	return k.Gate.SetUnread(entries.Unread, time.Now())
}

// WriteTo writes the halts into the data, notes their entries by their ids, and reports whether the data has changed. An entry
// that cannot be read stays there until its config has a halt. What holds nothing now has the room that is left.
func (k *Keeper) WriteTo(data, written map[string]string) (hasChanged bool) {
	entries := make(map[string]string)
	all := k.Gate.Records()
	room := k.addHalts(entries, written, inTurns(all, false), haltsRoom)
	room = k.addExposed(entries, room)
	k.addHalts(entries, written, inTurns(all, true), room)
	unread := gate.ReadEntries(data).Unread
	for name := range data {
		_, isWritten := entries[name]
		if _, isUnread := unread[name]; !isWritten && !isUnread && name != gate.HoldEntry && k.isOurs(name) {
			delete(data, name)
			hasChanged = true
		}
	}
	for name, text := range entries {
		if data[name] != text {
			data[name], hasChanged = text, true
		}
	}
	return hasChanged
}

// addHalts adds the halts of configs as far as there is room, and returns how much is left. It logs which one that holds restarts has
// no room.
func (k *Keeper) addHalts(entries, written map[string]string, halts [][]gate.HaltRecord, room int) (left int) {
	for _, records := range halts {
		text, err := json.Marshal(records)
		name := gate.EntryOf(records[0].Config)
		size := len(name) + len(text)
		switch {
		case err == nil && size <= room:
		case areGone(records):
			return room
		default:
			k.Log.Error("no room for a halt in the ConfigMap, keeping it in memory only", "config", records[0].Config, "error", err)
			return room
		}
		room -= size
		entries[name] = string(text)
		for i := range records {
			written[records[i].ID] = name
		}
	}
	return room
}

// addExposed does so for what workloads are exposed to that the next leader may not see.
func (k *Keeper) addExposed(entries map[string]string, room int) (left int) {
	for namespace, all := range k.Gate.KeptExposures(time.Now()) {
		text, err := gate.ExposedText(all)
		name := gate.ExposedEntry(namespace)
		if size := len(name) + len(text); err == nil && size <= room {
			room -= size
			entries[name] = text
			continue
		}
		k.Log.Error("no room in the ConfigMap of halts for what workloads are exposed to", "namespace", namespace, "error", err)
	}
	return room
}

// haltsRoom is how many bytes of the ConfigMap the halts take at most. The API allows 1 MiB.
const haltsRoom = 900 * 1024

// inTurns returns the halts that hold nothing now, or the others, so that the first ones of all namespaces come first, then the
// second ones, and so on: no namespace can take the room of others.
func inTurns(halts [][]gate.HaltRecord, gone bool) (sorted [][]gate.HaltRecord) {
	var turns fairqueue.RoundRobin[[]gate.HaltRecord]
	for _, records := range halts {
		_, rest, _ := strings.Cut(records[0].Config, "/")
		if namespace, _, _ := strings.Cut(rest, "/"); areGone(records) == gone {
			turns.Add(namespace, records)
		}
	}
	for turns.Len() > 0 {
		sorted = append(sorted, turns.Next())
	}
	return sorted
}

// areGone reports whether halts of a config hold nothing, because it has other content.
func areGone(records []gate.HaltRecord) bool {
	return !slices.ContainsFunc(records, func(r gate.HaltRecord) bool { return !r.Gone })
}

// keeps reports whether the halts of a config are for this process to keep.
func (k *Keeper) keeps(config names.ConfigRef) bool {
	return k.Watches(config.Namespace) || gate.IsGroup(config) && k.HasGroups
}

// isOurs reports whether an entry is about a namespace that this process watches.
func (k *Keeper) isOurs(entry string) bool {
	parts := strings.SplitN(entry, ".", 3) // namespaces have no dots
	return len(parts) == 3 && (k.Watches(parts[1]) || parts[1] == "_" && k.HasGroups)
}

// eventUnread reports on the ConfigMap of halts, where those look who write there, which entries cannot be read.
func (k *Keeper) eventUnread(object *corev1.ConfigMap) {
	gap, areUnread := k.Gate.UnreadGap()
	if !areUnread {
		k.Events.Event(object, corev1.EventTypeNormal, events.EntryNotRead, "all entries can be read again")
		return
	}
	k.Events.Event(object, corev1.EventTypeWarning, events.EntryNotRead, fmt.Sprintf("%s: %s. %s", gap.Text, gap.Why, gap.Remedy))
}
