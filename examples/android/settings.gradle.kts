// Open this folder in Android Studio. docs/android.md is the walk.
pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositoriesMode.set(RepositoriesMode.FAIL_ON_PROJECT_REPOS)
    repositories {
        google()
        mavenCentral()
    }
}

rootProject.name = "export-mobile-android"
include(":app", ":exportmobile")

// The projection in C++, faster than bytes-in files: needs the NDK and CMake. ./gradlew -PwithJni ...
if (providers.gradleProperty("withJni").isPresent) {
    include(":exportmobile-jni")
}
