// Package names has the names of what the catalog knows, and the moments at which it learned something.
//
// Vocabulary:
//
//   - A config is a ConfigMap, a Secret or a SecretProviderClass. A config of another namespace that workloads read
//     has a name of its own in the namespace of its readers: the ConfigMap flags of shared is shared/flags in team-a.
//     References, causes, records, fan-outs and halts use this name. So all code may assume that a config is in the
//     namespace of its workloads.
//   - A workload is a Deployment, a StatefulSet, a DaemonSet, or an object of another kind with a pod template that
//     the controller was asked for.
//   - A checksum is 64 bits, written as 16 hexadecimal digits.
//   - A moment ([Sequence]) numbers what the watches of this process showed, in that order. Moment 0 stands for
//     everything that no watch showed. Moments mean nothing to other processes.
//   - A [Sighting] is a moment with the time on the clock.
//
// Times of different clocks count as they are if they are more than a second apart. Within a second the moments
// decide: [Before] and [Interval.After] are told what they say.
package names
