// The attempts that Nextflow would make of a script with one process, as JSON: groovy FILE SCRIPT MINUTES DIRECTORY.
// It evaluates the directives and the command in Nextflow's order: an attempt has a time before it has a command.
import groovy.json.JsonOutput

/** Parameters: those of the command line stay as they are. */
class Parameters extends LinkedHashMap<String, Object> {
    Object put(String name, Object value) { containsKey(name) ? get(name) : super.put(name, value) }
}

/** The body of a process for one attempt. */
class Attempt {
    Map found = [:]
    Expando task

    def methodMissing(String name, arguments) {
        found[name] = arguments[0]
        if (name == "time") {
            def minutes = Integer.parseInt((arguments[0]() as String) - " min")
            task.time = [toMinutes: { minutes }] as Expando
        }
    }
}

def parameters = new Parameters()
parameters.put("minutes", args[1])
def script = new GroovyShell(new Binding([params: parameters, projectDir: args[2]])).parse(new File(args[0]))
def body = null
script.metaClass.methodMissing = { String name, arguments ->
    if (name == "simulate" && arguments) body = arguments[0]
}
script.run()

def attempts = []
while (attempts.isEmpty() || attempts.size() <= attempts[0].retries) {
    def attempt = new Attempt(task: new Expando(attempt: attempts.size() + 1))
    body.delegate = attempt
    body.resolveStrategy = Closure.DELEGATE_FIRST
    def command = body() as String
    def strategies = [0, 1, 85, 140, 143].collectEntries { status ->
        attempt.task.exitStatus = status
        [(status): attempt.found.errorStrategy()]
    }
    attempts << [
        minutes: attempt.task.time.toMinutes(), retries: attempt.found.maxRetries, strategies: strategies, command: command,
    ]
}
println JsonOutput.toJson(attempts)
