// The starter of the test bed: standard library only, so that it builds in a second anywhere.
module yardmaster.dev/test/controlplane/controlplane

go 1.26.0
