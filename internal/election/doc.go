// Package election lets one of several replicas lead at a time, by a Lease. The leader renews it until its pending
// work has ended, for 5 seconds at most, and releases it then. A leader that cannot renew it stops at the renew
// deadline, 3 seconds before the lease expires by default, and a replica that lost it exits, because a new process
// starts in a clean state. The health check fails only if the loop hangs. client-go's elector would release the lease
// before it reports the loss.
package election
