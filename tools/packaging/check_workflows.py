#!/usr/bin/env python3
"""Executes the CI workflows of a document: check_workflows.py [--ccache DIRECTORY] <document> <sources> <root>

Each job of the document's GitHub and GitLab files runs in a fresh copy of <root>, a clean Debian 12, which mmdebstrap
creates if it does not exist. Its commands run as the services run them, in their order, with the project ci_project as
the user's repository. Actions (checkout, cache, artifacts) copy directories. Lists of steps without a job run after the
last job before them. A job without a container gets the packages that hosted runners have, and runs in Debian 12 too.

--ccache shares a directory of compiled objects with the jobs. Root only: the script changes the root and mounts.
"""
import argparse
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = "/project"       # the working directory of a job
REPOSITORIES = "/sources"  # what stands for the host of Rigel's repository
NAMES = {"<owner>": "owner", "<host>": "git.invalid"}
SHOW_GPU = {"run": "rocminfo | grep 'Name: *gfx1030'"}
# Packages on the runner of a job without a container.
RUNNER_PACKAGES = ["sudo", "git", "ca-certificates"]


def fail(message):
    sys.exit(f"check_workflows.py: error: {message}")


def run(command, **options):
    return subprocess.run(command, check=True, **options)


def blocks_of(document):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    for block in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for placeholder, name in NAMES.items():
            block = block.replace(placeholder, name)
        yield block


class Job:
    """A copy of the clean system, in which commands run."""

    def __init__(self, name, setup, container):
        self.name = name
        self.setup = setup
        self.root = os.path.join(setup.scratch, re.sub(r"\W+", "-", name))
        self.variables = {}
        self.variables_file = f"{PROJECT}.env"
        self.caches = []
        print(f"\n== {name}", flush=True)
        run(["cp", "-a", setup.base, self.root])
        for folder in (PROJECT, REPOSITORIES, "/dev/shm", "/root/.ccache"):
            os.makedirs(self.root + folder, exist_ok=True)
        for folder in ("/proc", "/sys", "/dev"):
            run(["mount", "--rbind", folder, self.root + folder])
        run(["mount", "--bind", setup.repositories, self.root + REPOSITORIES])
        if setup.ccache:
            run(["mount", "--bind", setup.ccache, self.root + "/root/.ccache"])
        if not container:
            self.execute("apt-get -qq update && apt-get -qq install -y " + " ".join(RUNNER_PACKAGES), shown=False)

    def end(self):
        for key, path in self.caches:
            self.copy(self.root + PROJECT + "/" + path, self.setup.cache(key))
        run(["umount", "-l"] + [self.root + folder for folder in ("/proc", "/sys", "/dev", REPOSITORIES)] +
            ([self.root + "/root/.ccache"] if self.setup.ccache else []))
        run(["rm", "-rf", "--one-file-system", self.root])

    @staticmethod
    def copy(source, target):
        if os.path.isdir(source):
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)

    def restore(self, key, prefixes, path):
        """Restores a cache, saves it at the end of the job, and returns whether the key was found."""
        self.caches.append((key, path))
        if os.path.isdir(self.setup.cache(key)):
            self.copy(self.setup.cache(key), self.root + PROJECT + "/" + path)
            return True
        for prefix in prefixes:
            for folder in sorted(glob.glob(glob.escape(self.setup.cache(prefix)) + "*")):
                self.copy(folder, self.root + PROJECT + "/" + path)
                return False
        return False

    def checkout(self, path, repository):
        target = os.path.join(self.root + PROJECT, path)
        if repository is None:
            self.copy(os.path.join(HERE, "ci_project"), target)
            shutil.copy(os.path.join(self.setup.sources, "docs/samples/hip/saxpy.hip"), os.path.join(target, "saxpy.cpp"))
        else:
            run(["git", "clone", "-q", os.path.join(self.setup.repositories, repository), target])

    def forget_variables(self):
        self.variables = {}
        os.remove(self.root + self.variables_file)

    def environment(self):
        written = self.root + self.variables_file
        if os.path.exists(written):
            with open(written, encoding="utf-8") as file:
                self.variables.update(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        return self.variables

    def execute(self, script, shell="sh", shown=True):
        """Runs a script as a step: sh -e in the project's directory, without a terminal."""
        began = time.monotonic()
        variables = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                     "CI": "true", "GITHUB_ENV": self.variables_file, **self.environment()}
        if self.setup.ccache:
            variables["CCACHE_DIR"] = "/root/.ccache"
        command = ["chroot", self.root, "/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items()),
                   "sh", "-c", f"cd {PROJECT} && exec {shell} -e -c \"$0\"", script]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", check=False)
        if shown or result.returncode != 0:
            print(f"{time.monotonic() - began:7.1f} s  {' '.join(script.split())}", flush=True)
        if result.returncode != 0:
            print("\n".join(result.stdout.splitlines()[-60:]))
            fail(f"job {self.name}: the command has status {result.returncode}")
        return result.stdout


class Setup:
    """What all jobs share: the clean system, the repositories, caches and artifacts."""

    def __init__(self, arguments, scratch):
        self.base, self.sources, self.scratch, self.ccache = arguments.root, arguments.sources, scratch, arguments.ccache
        self.repositories = os.path.join(scratch, "repositories")
        self.commit = run(["git", "-C", self.sources, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
        run(["git", "clone", "-q", "--bare", self.sources, os.path.join(self.repositories, "owner/rigel")])
        if not os.path.exists(os.path.join(self.base, "etc/os-release")):
            self.make_base()

    def make_base(self):
        mirror = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
                     stdout=subprocess.PIPE, text=True).stdout.split()[0]
        run(["mmdebstrap", "-q", "--variant=minbase", "--mode=root", "--aptopt=Acquire::Check-Valid-Until \"false\"",
             "bookworm", self.base, f"deb [trusted=yes] {mirror} bookworm main"])
        with open(os.path.join(self.base, "etc/gitconfig"), "w", encoding="utf-8") as file:
            file.write(f'[url "{REPOSITORIES}/"]\n\tinsteadOf = https://{NAMES["<host>"]}/\n[safe]\n\tdirectory = *\n')
        shutil.copy("/etc/resolv.conf", os.path.join(self.base, "etc/resolv.conf"))

    def cache(self, key):
        return os.path.join(self.scratch, "caches", key.replace("/", "-"))

    def artifact(self, name):
        return os.path.join(self.scratch, "artifacts", name)


class GitHub:
    """Runs the jobs of a workflow, and lists of steps after it."""

    def __init__(self, setup):
        self.setup = setup
        self.job = None

    def workflow(self, jobs):
        for name, description in jobs.items():
            matrix = description.get("strategy", {}).get("matrix", {})
            for values in itertools.product(*matrix.values()):
                self.end()
                container = "container" in description
                self.job = Job(" ".join((name, *values)), self.setup, container)
                known = {f"matrix.{key}": value for key, value in zip(matrix, values)}
                known["github.run_id"] = "1"
                self.steps(description["steps"], known, "sh" if container else "bash")

    def steps(self, steps, known, shell):
        outputs = {}
        for step in steps:
            condition = step.get("if")
            if condition is not None:
                wanted = re.fullmatch(r"steps\.(\w+)\.outputs\.cache-hit != 'true'", condition)
                if not wanted:
                    fail(f"unknown condition '{condition}'")
                if outputs[wanted[1]]:
                    continue
            if "run" in step:
                self.job.execute(self.resolve(step["run"], known), shell)
            else:
                found = self.action(step["uses"], step.get("with", {}), known)
                outputs[step.get("id")] = found

    def action(self, action, inputs, known):
        inputs = {key: self.resolve(value, known) for key, value in inputs.items()}
        project = self.job.root + PROJECT
        if action == "actions/checkout@v4":
            return self.job.checkout(inputs.get("path", "."), inputs.get("repository"))
        if action == "actions/cache@v4":
            return self.job.restore(inputs["key"], inputs.get("restore-keys", "").split(), inputs["path"])
        if action == "actions/upload-artifact@v4":
            return self.job.copy(os.path.join(project, inputs["path"]), self.setup.artifact(inputs["name"]))
        if action == "actions/download-artifact@v4":
            return self.job.copy(self.setup.artifact(inputs["name"]), os.path.join(project, inputs["path"]))
        return fail(f"unknown action '{action}'")

    def resolve(self, text, known):
        def value(expression):
            if expression[1] not in known:
                fail(f"unknown expression '{expression[0]}'")
            return known[expression[1]]
        return re.sub(r"\$\{\{ ([\w.]+) \}\}", value, text).replace("<commit>", self.setup.commit)

    def end(self):
        if self.job:
            self.job.end()
        self.job = None


class GitLab:
    """Runs the jobs of a pipeline, stage by stage."""

    def __init__(self, setup):
        self.setup = setup

    def pipeline(self, description):
        for stage in description["stages"]:
            for name, job in description.items():
                if isinstance(job, dict) and job.get("stage") == stage:
                    for variables in self.matrix(job):
                        self.run(name, job, variables)

    @staticmethod
    def matrix(job):
        for row in job.get("parallel", {}).get("matrix", [{}]):
            for values in itertools.product(*row.values()):
                yield dict(zip(row, values))

    def run(self, name, description, variables):
        job = Job(" ".join(("gitlab", name, *variables.values())), self.setup, True)
        job.variables = variables
        job.checkout(".", None)
        for needed in description.get("needs", []):
            job.copy(self.setup.artifact("gitlab-" + needed), job.root + PROJECT)
        if "cache" in description:
            key = description["cache"]["key"]
            for variable, value in variables.items():
                key = key.replace("$" + variable, value)
            for path in description["cache"]["paths"]:
                job.restore("gitlab-" + key, [], path)
        job.execute("\n".join(description["script"]).replace("<commit>", self.setup.commit))
        for path in description.get("artifacts", {}).get("paths", []):
            job.copy(f"{job.root}{PROJECT}/{path}", f"{self.setup.artifact('gitlab-' + name)}/{path}")
        job.end()


def main():
    parser = argparse.ArgumentParser(add_help=True, description=__doc__.splitlines()[0])
    parser.add_argument("--ccache", type=os.path.abspath)
    parser.add_argument("document")
    parser.add_argument("sources", type=os.path.abspath)
    parser.add_argument("root", type=os.path.abspath)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        fail("root is required to change the root directory")
    if "RIGEL_OWN_MOUNTS" not in os.environ:  # mounts belong to this process and end with it
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, "RIGEL_OWN_MOUNTS": "1"})

    with tempfile.TemporaryDirectory(prefix="rigel-workflows-") as scratch:
        setup = Setup(arguments, scratch)
        github = GitHub(setup)
        for block in blocks_of(arguments.document):
            content = yaml.safe_load(block)
            if isinstance(content, list):  # steps of a job that has Rigel's packages
                github.steps([*content, SHOW_GPU], {}, "sh")
            elif "before_script" in content:
                github.job.forget_variables()
                github.steps([{"run": "\n".join([*content["before_script"], SHOW_GPU["run"]])}], {}, "sh")
            elif "jobs" in content:
                github.workflow(content["jobs"])
            elif "stages" in content:
                GitLab(setup).pipeline(content)
            else:
                fail(f"unknown kind of block:\n{block}")
        github.end()
    print("\nEvery command of the workflows succeeded.")


main()
