"""What of the lab can be tested without a network: python3 -m unittest lab.test_pure"""

import os
import tempfile
import unittest

from lab import spray, sprayed
from lab.agents import encode_report
from lab.container import inside
from lab.experiment import collisions, utilisation
from lab.failures import longest_delay
from lab.jobs import GOODPUT, Job
from lab.pods import PodRunner, expand, field_of, volume_path
from lab.shape import Shape, fabric_manifest


class Agents(unittest.TestCase):
    def test_a_report_is_what_protoc_makes_of_it(self):
        # protoc --encode=yardmaster.agent.v1.IterationReport pkg/rpc/agent.proto, behind gRPC's five bytes.
        self.assertEqual(encode_report("u1", 300, 0.5, 0.25).hex(),
                         "0000000019" "0a0275311" "0ac0219000000000000e03f21000000000000d03f")


class Pods(unittest.TestCase):
    def test_variables_expand_as_kubernetes_has_them(self):
        environment = {"A": "1", "B_C": "2"}
        self.assertEqual(expand("$(A)-$(B_C)", environment), "1-2")
        self.assertEqual(expand("$(MISSING) $$(A) $A", environment), "$(MISSING) $(A) $A")

    def test_fields_of_the_downward_api(self):
        pod = {"metadata": {"name": "p", "labels": {"b": "2", "a": "1"}, "annotations": {"x/y": "z"}},
               "spec": {"nodeName": "n"}}
        self.assertEqual(field_of(pod, "metadata.name"), "p")
        self.assertEqual(field_of(pod, "metadata.annotations['x/y']"), "z")
        self.assertEqual(field_of(pod, "metadata.annotations['gone']"), "")
        self.assertEqual(field_of(pod, "metadata.labels"), 'a="1"\nb="2"')
        self.assertEqual(field_of(pod, "spec.nodeName"), "n")
        with self.assertRaises(ValueError):
            field_of(pod, "spec.containers")


    def test_a_claim_is_the_folder_of_its_volume(self):
        class Api:
            def get(self, path):
                return {"/api/v1/namespaces/n/persistentvolumeclaims/c": {"spec": {"volumeName": "v"}},
                        "/api/v1/persistentvolumes/v": {"spec": {"hostPath": {"path": "/data"}}}}[path]
        runner = PodRunner.__new__(PodRunner)
        runner._api, runner.pod = Api(), {"metadata": {"namespace": "n"}}  # pylint: disable=protected-access
        path = runner._path_on_host  # pylint: disable=protected-access
        self.assertEqual(path({"name": "a", "persistentVolumeClaim": {"claimName": "c"}}), "/data")
        self.assertEqual(path({"name": "a", "hostPath": {"path": "/other"}}), "/other")
        self.assertIsNone(path({"name": "a", "emptyDir": {}}))

    def test_volumes_of_a_pod_lie_where_a_kubelet_has_them(self):
        self.assertEqual(volume_path("/p/u", {"name": "a", "emptyDir": {}}), "/p/u/volumes/kubernetes.io~empty-dir/a")
        self.assertEqual(volume_path("/p/u", {"name": "b", "downwardAPI": {}}), "/p/u/volumes/kubernetes.io~downward-api/b")
        self.assertEqual(volume_path("/p/u", {"name": "c", "projected": {}}), "/p/u/volumes/kubernetes.io~projected/c")

    def test_mounts_stay_inside_the_root_of_a_container(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(f"{root}/var")
            os.symlink("/run", f"{root}/var/run")
            os.symlink("../var/./run", f"{root}/var/relative")
            os.symlink("loop", f"{root}/loop")
            self.assertEqual(inside(root, "/var/run/secrets"), f"{root}/run/secrets")
            self.assertEqual(inside(root, "/var/relative/x"), f"{root}/run/x")
            self.assertEqual(inside(root, "/../new/folder"), f"{root}/new/folder")
            with self.assertRaises(OSError):
                inside(root, "/loop")


class Jobs(unittest.TestCase):
    def test_a_ring_sends_twice_n_minus_one_nths(self):
        job = Job("j", 4, "ddp", megabytes=2, compute=1)
        self.assertEqual([(a, b) for a, b, _ in job.flows()], [(0, 1), (1, 2), (2, 3), (3, 0)])
        self.assertAlmostEqual(job.flows()[0][2], 3e6)

    def test_a_pipeline_sends_both_ways_between_stages(self):
        job = Job("j", 4, "pipeline", megabytes=1, compute=1, activation_megabytes=0.5, micro_batches=2)
        between = [(a, b, size) for a, b, size in job.flows() if (a < 2) != (b < 2)]
        self.assertEqual(between, [(0, 2, 1e6), (2, 0, 1e6), (1, 3, 1e6), (3, 1, 1e6)])

    def test_calibration_gives_the_measured_iteration_back(self):
        job = Job("j", 2, "ddp", megabytes=2, compute=1.0)
        communication = job.communication_seconds(16)
        self.assertAlmostEqual(communication, 1 / GOODPUT)
        for alone in (1.5, 2.4):
            profile = job.calibrated(alone, 16)
            self.assertAlmostEqual(profile.communication_start * profile.busy_seconds + communication, alone)


class Measures(unittest.TestCase):
    def test_collisions_count_large_flows_beyond_the_even_share(self):
        shape = Shape(aggs=2)
        flow = lambda link, sent: (f"p0/s0/tor-r0-p0:u{link}.up", "a", "b", 1, sent)  # pylint: disable=unnecessary-lambda-assignment
        self.assertEqual(collisions(shape, [flow(0, 100), flow(1, 100)]), 0)
        self.assertEqual(collisions(shape, [flow(0, 100), flow(0, 90)]), 1)
        self.assertEqual(collisions(shape, [flow(0, 100), flow(0, 10)]), 0)
        self.assertEqual(collisions(shape, [flow(0, 100), flow(0, 90), flow(1, 80)]), 0)
        self.assertEqual(collisions(shape, []), 0)

    def test_utilisation_weighs_jobs_by_their_gpus(self):
        jobs = [Job("a", 3, "ddp", 1, compute=1.0), Job("b", 1, "ddp", 1, compute=1.0)]
        self.assertAlmostEqual(utilisation(jobs, {"a": 2.0, "b": 1.0}), 0.625)

    def test_a_delay_is_what_exceeds_the_usual_iteration(self):
        lines = [{"time": t, "seconds": s} for t, s in ((1, 1), (2, 1), (3, 1), (5.5, 2.5), (6.5, 1))]
        self.assertAlmostEqual(longest_delay(lines, 3.1, 7), 1.5)
        # The iteration that still runs.
        self.assertAlmostEqual(longest_delay(lines[:3], 3.1, 13), 9)


class Fabric(unittest.TestCase):
    def test_every_switch_hashes_with_a_seed_of_its_own(self):
        overrides = fabric_manifest(Shape())["spec"]["ecmpHashOverrides"]
        seeds = {block["seed"] for block in overrides.values()}
        self.assertEqual(len(seeds), len(overrides))
        self.assertEqual(len(overrides), 4 + 2 * Shape().aggs)
        self.assertTrue(all(0 < seed < 2**32 for seed in seeds))

    def test_a_sprayed_fabric_says_so(self):
        for shape in (Shape(), sprayed.SHAPE):
            spec = fabric_manifest(shape)["spec"]
            said = [spec["host"]["nicSpraying"], spec["tiers"][0]["spraying"]]
            self.assertEqual(said, [shape.sprayed] * 2)
            self.assertEqual((spec["planes"], spec["host"]["nicPorts"]), (shape.planes, shape.planes))


class Sprayed(unittest.TestCase):
    def test_packets_take_turns_over_the_ways_that_reach_the_target(self):
        rules = spray.rules({"10.77.1.0/24": [0, 2], "10.77.2.0/24": []}, range(3)).splitlines()
        self.assertEqual(rules[0], "flush chain ip spray spray")
        self.assertEqual(rules[1], "add rule ip spray spray ip daddr 10.77.1.0/24 udp length < 300 meta mark set "
                                   "numgen inc mod 2 map { 0 : 1, 1 : 3 } return")
        self.assertIn("add rule ip spray spray ip daddr 10.77.2.0/24 drop", rules)
        self.assertTrue(rules[-1].endswith("numgen inc mod 3 map { 0 : 1, 1 : 2, 2 : 3 } return"))
        self.assertEqual(len(rules), 6)

    def test_every_hop_of_a_drawn_job_crosses_the_aggs(self):
        places = sprayed.draw_places(sprayed.SHAPE, 1)
        hosts = [host for job in sprayed.JOBS for host in places[job.name]]
        self.assertEqual(len({host.name for host in hosts}), len(hosts))
        for job in sprayed.JOBS:
            for source, target, _ in job.flows():
                self.assertNotEqual(places[job.name][source].segment, places[job.name][target].segment)

    def test_a_flow_is_on_all_planes_and_aggs_alike(self):
        shape, job = sprayed.SHAPE, sprayed.JOBS[0]
        flows = sprayed.flows_of(shape, job, sprayed.draw_places(shape, 1)[job.name])
        self.assertEqual(len(flows), job.workers * shape.planes * shape.aggs)
        self.assertEqual(len({size for size, _ in flows}), 1)
        self.assertAlmostEqual(sum(size for size, _ in flows), sum(size for *_, size in job.flows()))

    def test_unevenness_is_the_largest_deviation_from_the_mean(self):
        shape = Shape(planes=2, aggs=2)
        sent = {f"{shape.uplink(s, p, a)}.{way}": 1000000 for s in range(2) for p in range(2) for a in range(2)
                for way in ("up", "down")}
        self.assertEqual(sprayed.unevenness(shape, sent)[0], 0)
        sent[f"{shape.uplink(1, 1, 0)}.down"] = 600000
        worst, by_chance = sprayed.unevenness(shape, sent)
        self.assertAlmostEqual(worst, 1 / 3)
        self.assertLess(by_chance, worst)

    def test_what_contradicts_the_product_is_named(self):
        def row(name, seconds, **changes):
            return {"seed": 1, "name": name, "jobs": [{"iterationSeconds": seconds}], "ofAlone": 0.8, "predictedOfAlone": 0.82,
                    "unevenness": 0.01, "unevennessByChance": 0.1, "plannedPorts": 0} | changes
        self.assertEqual(sprayed.problems([row("sprayed", 3.0), row("sprayed+levels", 2.0)]), [])
        bad = [row("sprayed", 3.0, plannedPorts=2, unevenness=0.2), row("sprayed+levels", 2.9, predictedOfAlone=0.9)]
        self.assertEqual(len(sprayed.problems(bad)), 4)


if __name__ == "__main__":
    unittest.main()
