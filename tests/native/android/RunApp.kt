// The written classes and the example app in a desktop JVM. Arguments: "classes" TEXTS OUT gives a line for each line of
// TEXTS, with the label of the PRADO, that of the BERT and the tags; "labels" prints the constants of `Nasty`; "app"
// clicks through the Activity with the text of the second argument.
import android.content.Context
import android.os.Bundle
import android.widget.Button
import android.widget.EditText
import android.widget.Spinner
import android.widget.TextView
import com.example.app.BertClassifier
import com.example.app.IntentClassifier
import com.example.app.Nasty
import com.example.app.SlotTagger
import com.example.exportmobile.MainActivity
import com.example.exportmobile.R
import java.io.File
import java.io.PrintStream
import kotlin.system.exitProcess

fun main(arguments: Array<String>) {
    when (arguments[0]) {
        "classes" -> classes(File(arguments[1]), File(arguments[2]))
        "labels" -> PrintStream(System.out, true, "UTF-8").print(Nasty.LABELS.joinToString("\u0000"))
        "app" -> app(arguments[1])
    }
    exitProcess(0)
}

private fun classes(texts: File, target: File) {
    val context = Context()
    IntentClassifier(context).use { intents ->
        BertClassifier(context).use { bert ->
            SlotTagger(context).use { slots ->
                for (model in listOf(intents.selfTest(), bert.selfTest(), slots.selfTest())) println(model)
                val lines = texts.readText().split("\n").map { text ->
                    val tags = slots.tag(text).joinToString(" ") { it.label ?: "-" }
                    "${intents.classify(text).first().name}\t${bert.classify(text).first().name}\t$tags"
                }
                target.writeText(lines.joinToString("\n"))
            }
        }
    }
}

private fun app(text: String) {
    val activity = object : MainActivity() {
        fun start() = onCreate(Bundle())

        fun end() = onDestroy()
    }
    activity.start()
    val models = activity.findViewById<Spinner>(R.id.models)
    val answer = activity.findViewById<TextView>(R.id.answer)
    activity.findViewById<EditText>(R.id.text).text = text
    for (place in 0 until models.adapter.count) {
        models.setSelection(place)
        for (button in listOf(R.id.run, R.id.self_test)) {
            answer.text = ""
            activity.findViewById<Button>(button).performClick()
            while (answer.text.isEmpty()) Thread.sleep(5)
            println("${models.adapter.getItem(place)}: ${answer.text.replace(Regex("\\s+"), " ")}")
        }
    }
    println("last: ${answer.text}")
    activity.end()
}
